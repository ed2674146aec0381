import { timeOrderedUuid } from '../common/ids.ts';
import type { Operator } from './audit-log.ts';
import type { PagedRecords, PageQuery } from './page-query.ts';

/** A notice for people: something has happened that they asked to be told of. */
export interface NoticeRecord {
  /** Its id, which is the same in every delivery of it. */
  readonly id: string;
  /** What there is one notice of, at all instances together: a second one with the same key is not added. */
  readonly key: string;
  /** What it is about: `account:NAME`, `provider:NAME`, `ledger`. */
  readonly subject: string;
  /** What has happened, such as `limit.threshold_reached`. */
  readonly type: string;
  /** What is known about it; may be made public to its receivers. */
  readonly data: Readonly<Record<string, unknown>>;
  /** Unix milliseconds at which it was made. */
  readonly created_ms: number;
  /** Who gets it; empty until an instance has decided that. */
  readonly deliveries: readonly NoticeDelivery[];
}

/** A new notice; its receivers are decided by an instance that sends notices. Its id is a `timeOrderedUuid`. */
export type NewNotice = Omit<NoticeRecord, 'deliveries'>;

/** A test, which every receiver gets. */
export function testNotice(actor: string, now_ms: number): NewNotice {
  const id = timeOrderedUuid(now_ms);
  return { id, key: `test:${id}`, subject: 'test', type: 'test', data: { actor }, created_ms: now_ms };
}

/** A notice on its way to one receiver. */
export interface NoticeDelivery {
  /** The receiver, such as `webhook:NAME` or `mail:ADDRESS`. */
  readonly target: string;
  /** Where it is: to be tried, taken by the receiver, or given up. */
  readonly state: 'waiting' | 'sent' | 'failed';
  /** How often it was tried. */
  readonly attempts: number;
  /** Unix milliseconds of the next attempt; null once it is sent or given up. */
  readonly due_ms: number | null;
  /** Unix milliseconds at which it was sent or given up. */
  readonly ended_ms: number | null;
  /** Why the last attempt failed; empty for none. */
  readonly fault: string;
}

/** A delivery that one instance has claimed, with what is to be delivered. */
export interface ClaimedDelivery extends Pick<NoticeDelivery, 'target' | 'attempts'> {
  /** What is to be delivered. */
  readonly notice: NewNotice;
}

/** What became of an attempt. */
export interface DeliveryResult {
  /** Whether it is tried again. */
  readonly state: NoticeDelivery['state'];
  /** Unix milliseconds of the next attempt, or of the end. */
  readonly at_ms: number;
  /** Why it failed; empty if it did not. */
  readonly fault: string;
}

/** Which notices are listed. */
export interface NoticeQuery extends PageQuery {
  /** About this alone. */
  readonly subject?: string | undefined;
}

/** Notices and their deliveries, newest first: the outbox of all instances. */
export interface NoticeRecords extends PagedRecords<NoticeRecord, NoticeQuery> {
  /** Adds a notice; false if there is one with its key. One about an account that an operator sends is recorded as `account.notify`. */
  add(notice: NewNotice, operator?: Operator): Promise<boolean>;
  /** Those whose receivers are not decided, the oldest first. */
  unrouted(limit: number): Promise<NewNotice[]>;
  /** Decides the receivers of a notice, once: a second call changes nothing. Those of `sent` have it already. */
  route(id: string, targets: readonly string[], now_ms: number, sent?: readonly string[]): Promise<void>;
  /** Takes deliveries that are due, for this instance alone until `until_ms`; then they are due again. The attempt is counted. */
  claim(now_ms: number, until_ms: number, limit: number): Promise<ClaimedDelivery[]>;
  /** Notes the result of a claimed attempt; nothing if another instance has claimed the delivery meanwhile. */
  settle(
    id: string,
    claimed: Pick<ClaimedDelivery, 'target' | 'attempts'>,
    result: DeliveryResult,
  ): Promise<void>;
  /** How many deliveries wait, those of notices without receivers not counted. */
  waiting(): Promise<number>;
  /** Deletes notices that were made before, at most `limit`, with their deliveries. Returns how many. */
  prune(before_ms: number, limit: number): Promise<number>;
}
