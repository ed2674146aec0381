import {
  amountOf,
  type Charge,
  type Exchange,
  type Limit,
  type LimitStatus,
  limitLabel,
  type Reservation,
  type ReservationResult,
} from '../../../src/plugin.ts';
import type { MostUse } from './request-charge.ts';

type AdmittedReservation = Extract<ReservationResult, { admitted: true }>;

/** The reservations of an exchange, and its account's limit status at that time. */
export interface Held {
  readonly account: string;
  /** In order; settled together. */
  readonly reservations: Reservation[];
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

/** Reports in a header and in the log the limits that a dry run would have refused, including those before the body. */
export function reportOver(exchange: Exchange, reservations: readonly Reservation[]): void {
  const over = reservations.flatMap(reservation => reservation.over);
  const names = over.map(limit =>
    limit.model === undefined ? limitLabel(limit) : `${limitLabel(limit)} of ${limit.model}`,
  );
  exchange.replyHeaders['x-ratelimit-dry-run'] = [...new Set(over.map(limitLabel))].join(', ');
  if (exchange.isLogged('info'))
    exchange.log.info({ account: exchange.account?.id, limits: names }, 'over a limit, admitted by dry_run');
}

/** A hard limit of which the whole is less than `charge`: a store admits what is above a whole limit while that is unused. */
export const tooSmall = (limits: readonly Limit[], charge: Charge): Limit | undefined =>
  charge.ceiling && limits.find(limit => limit.hard && amountOf(limit, charge, 1) > limit.max);

/** The reservation of a dry run; such a limit is over as well. */
export function reported({ reservation, statuses }: AdmittedReservation, charge: Charge): Reservation {
  const { over } = reservation;
  const limit = tooSmall(
    statuses.map(({ limit }) => limit),
    charge,
  );
  if (!limit || over.includes(limit)) return reservation;
  return { over: [...over, limit], settle: used => reservation.settle(used) };
}
