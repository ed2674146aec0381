import {
  amountsOf,
  type Charge,
  type Exchange,
  type Limit,
  type LimitStatus,
  limitLabel,
  type Reservation,
  type ReservationResult,
} from '../../../src/plugin.ts';
import type { MostUse } from './request-charge.ts';

/** The reservations of an exchange, and its account's limit status at that time. */
export interface Held {
  readonly account: string;
  /** In order; settled together. */
  reservations: readonly Reservation[];
  /** The limits that a dry run has exceeded. */
  over: readonly Limit[];
  /** What the exchange has used, once it has ended. */
  used: Charge | undefined;
  statuses: readonly LimitStatus[];
  refused_by: Limit | undefined;
  /** True once all limits of the exchange have decided: `statuses` is complete. */
  isComplete: boolean;
  countsMoney: boolean;
  estimated_prompt: number;
  /** Set if a limit on tokens or money is hard. */
  most: MostUse | undefined;
  /** True once `most` is reserved. */
  hasCeiling: boolean;
}

/** A hard limit of which the whole is less than `charge`: a store admits what is above a whole limit while that is unused. */
export function tooSmall(limits: readonly Limit[], charge: Charge): Limit | undefined {
  const amounts = amountsOf(limits, charge, 1);
  for (let at = 0; at < limits.length; at++)
    if (limits[at]!.hard && amounts[at]! > limits[at]!.max) return limits[at];
  return undefined;
}

/** The limits that a dry run has exceeded, with one that is too small. */
export function overOf(
  { reservation, statuses }: Extract<ReservationResult, { admitted: true }>,
  charge: Charge,
): readonly Limit[] {
  const { over } = reservation;
  const limits = statuses.map(({ limit }) => limit);
  const limit = charge.ceiling && tooSmall(limits, charge);
  return !limit || over.includes(limit) ? over : [...over, limit];
}

/** Reports in a header and in the log the limits that a dry run would have refused, including those before the body. */
export function reportOver(exchange: Exchange, over: readonly Limit[]): void {
  exchange.replyHeaders['x-ratelimit-dry-run'] = [...new Set(over.map(limitLabel))].join(', ');
  if (!exchange.isLogged('info')) return;
  const limits = over.map(limit =>
    limit.model === undefined ? limitLabel(limit) : `${limitLabel(limit)} of ${limit.model}`,
  );
  exchange.log.info({ account: exchange.account?.id, limits }, 'over a limit, admitted by dry_run');
}
