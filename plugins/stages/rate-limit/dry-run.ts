import {
  amountsOf,
  type Charge,
  type Exchange,
  type Limit,
  limitLabel,
  type ReservationResult,
} from '../../../src/plugin.ts';

/** The first hard limit whose maximum is below `charge`: a store would admit the charge while nothing of the limit is used. */
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
