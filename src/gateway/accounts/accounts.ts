import { type GatewayError, refusal } from '../exchange/errors.ts';
import type { KeyLimits, LimitOverrides } from '../limits/plan-limits.ts';

/** Ids of models; one that ends in `*` stands for all that begin like it. */
export type ModelList = readonly string[];

/** The account that a request is billed to. */
export interface Account {
  /** Its name: in limits, metrics, spans and the ledger. */
  readonly id: string;
  /** Name of its plan; undefined if it has none. */
  readonly plan: string | undefined;
  /** Limits that replace those of the plan. */
  readonly limits?: LimitOverrides | undefined;
  /** The key that was used, if it is one of the records store. */
  readonly key_id?: string;
  /** Limits of that key alone, which hold beside those of the account. Without `key_id` they have no effect. */
  readonly key_limits?: KeyLimits | undefined;
  /** Its parent, and that one's: their limits hold for all accounts below them together. */
  readonly parents?: readonly Account[] | undefined;
  /** The models that it may use: those that all of these lists name, which are its own, those of its parents and that of the key. Undefined for all. */
  readonly model_lists?: readonly ModelList[] | undefined;
}

/** Id of the account under which the limits of `account` are counted: the root of its tree. */
export const rootOf = ({ id, parents }: InTree): string => parents?.at(-1)?.id ?? id;

interface InTree extends Pick<Account, 'id'> {
  readonly parents?: readonly Pick<Account, 'id'>[] | undefined;
}

/** Error for an account whose configuration is wrong. */
export function unusableAccount(what: string, cause?: unknown): GatewayError {
  return refusal('provider_misconfigured', {
    message: 'This account is not available because of a server-side configuration error.',
    cause: cause === undefined ? what : new Error(what, { cause }),
  });
}

/**
 * Finds the account of a key. Only digests are kept: a key cannot be read back, and comparing digests reveals nothing of a key. Throws
 * `permission_error`, or rejects with it, for an account that is disabled.
 */
export interface AccountDirectory {
  /** `undefined` for unknown and revoked keys alike. `digest` is that of the key, where it has been made already. */
  find(key: string, digest?: string): Account | undefined | Promise<Account | undefined>;
  /** The account with this id, whatever its keys. Throws `server_error`, or rejects with it, if it cannot be looked up. */
  findById(id: string): Account | undefined | Promise<Account | undefined>;
  /** Whether an account of this id is known to be disabled. Asks nothing. */
  isDisabled?(id: string): boolean;
}
