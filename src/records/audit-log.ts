import type { IdempotentRequest } from './idempotent-requests.ts';
import type { PagedRecords, PageQuery } from './page-query.ts';

/** What is recorded: changes, requests that were ended, and sign-ins. */
export const auditActions = [
  'account.create',
  'account.change',
  'account.disable',
  'account.enable',
  'account.credit',
  'account.notify',
  'key.create',
  'key.import',
  'key.change',
  'key.rotate',
  'key.revoke',
  'admin-key.create',
  'admin-key.revoke',
  'customer.invite',
  'customer.accept',
  'customer.password',
  'customer.remove',
  'provider.change',
  'request.cancel',
  'sign-in.accept',
  'sign-in.refuse',
  'sign-in.end',
] as const;

/** A change by an operator, or a sign-in. */
export interface AuditEntry {
  /** Its id. */
  readonly id: string;
  /** Unix milliseconds. */
  readonly at_ms: number;
  /** `cli:alice`, `api:deploy` by a key of the Admin API, or the name of a dashboard user. */
  readonly actor: string;
  /** The network address of the actor's browser; empty for the command line. */
  readonly address: string;
  /** What was done. */
  readonly action: (typeof auditActions)[number];
  /** The id of the account or key, for customers their account, the name of a provider, the id of a request; of a sign-in `dashboard` or `portal`. */
  readonly target: string;
  /** What was set, as JSON, and under `before` what was there until then; never a key. */
  readonly detail: string;
}

/** Actions by the part of their name before the point: `account`, `key`, `admin-key`, `customer`, `sign-in`. */
export const auditGroups: ReadonlyMap<string, readonly AuditEntry['action'][]> = Map.groupBy(
  auditActions,
  action => action.split('.')[0]!,
);

/** The actions of a group, or the one of this name; undefined for neither. */
export function actionsNamed(name: string): readonly AuditEntry['action'][] | undefined {
  const one = auditActions.find(action => action === name);
  return one ? [one] : auditGroups.get(name);
}

/** Who changes something, and when. */
export interface Operator extends Pick<AuditEntry, 'actor' | 'at_ms'>, Partial<Pick<AuditEntry, 'address'>> {
  /** The request by which the change is made once: a second one is refused with RequestRepeated, at every instance. */
  readonly once?: IdempotentRequest | undefined;
}

/** Which entries are listed. */
export interface AuditQuery extends PageQuery {
  /** The id of an account or key. */
  readonly target?: string | undefined;
  /** An account: changes of its keys and of its customers only. */
  readonly customers_of?: string | undefined;
  /** A name as it is recorded. */
  readonly actor?: string | undefined;
  /** Only these. */
  readonly actions?: readonly AuditEntry['action'][] | undefined;
  /** From this time on. */
  readonly from_ms?: number | undefined;
  /** Before this time. */
  readonly until_ms?: number | undefined;
}

/** The operators' changes, newest first, each recorded by the method that makes it. */
export interface AuditLog extends PagedRecords<AuditEntry, AuditQuery> {
  /** Records what no other instance need notice: a sign-in, the end of one, or that a request is ended. */
  record(
    who: Operator,
    action: Extract<AuditEntry['action'], `${'sign-in' | 'request'}.${string}`>,
    target: string,
    detail?: object,
  ): Promise<void>;
}
