import {
  amountUsed,
  counterKey,
  type LimitStatus,
  limitLabel,
  minute_ms,
  neverResets,
  rowOf,
  unitOf,
  usdOf,
  windowOf,
} from '../../src/plugin.ts';

/** Share of a limit from which on a refusal by it says that it is used up: a hard limit refuses what does not fit. */
const used_up = 0.9;
/** Ends of windows are told apart to this, which the clocks of instances agree on. */
const window_end_ms = 15 * minute_ms;

/** A threshold of one window that has been reached. */
export interface Crossing {
  /** The same for the same threshold and window at all instances. */
  readonly key: string;
  /** The account that has the limit, and is above the one that was used, or is that. */
  readonly account: string;
  /** `Infinity` for a limit in total. */
  readonly window_ends_ms: number;
  readonly threshold: number;
  readonly status: LimitStatus;
}

/**
 * The highest threshold that each limit on periods of the calendar, or in total, has reached: limits of an account and of those above it,
 * all counted under `root`. `refusing` has the labels of those that refuse requests.
 */
export function crossingsOf(
  root: string,
  statuses: readonly LimitStatus[],
  {
    thresholds,
    refusing,
    now_ms,
  }: {
    readonly thresholds: readonly number[];
    readonly refusing: ReadonlySet<string>;
    readonly now_ms: number;
  },
): Crossing[] {
  return statuses.flatMap((status): Crossing[] => {
    const { limit, remaining, reset_ms } = status;
    const isEndless = neverResets(limit);
    if (windowOf(limit).kind !== 'calendar' || (reset_ms <= 0 && !isEndless)) return [];
    const share = 1 - remaining / limit.max;
    const isUsedUp = share >= used_up && refusing.has(limitLabel(limit));
    const reached = thresholds.filter(threshold => isUsedUp || share * 100 >= threshold);
    if (reached.length === 0) return [];
    const threshold = Math.max(...reached);
    const window_ends_ms = isEndless
      ? Number.POSITIVE_INFINITY
      : Math.round((now_ms + reset_ms) / window_end_ms) * window_end_ms;
    // What never resets is told again once there is more of it.
    const window = isEndless ? `of ${limit.max}` : window_ends_ms;
    const key = ['limit', root, counterKey(limit), window, threshold].join(':');
    return [{ key, account: limit.member ?? root, window_ends_ms, threshold, status }];
  });
}

/** What a notice says of a threshold. Money is in dollars, as an exact decimal. */
export function crossingData({
  account,
  threshold,
  status,
  window_ends_ms,
}: Crossing): Readonly<Record<string, unknown>> {
  const { limit, remaining } = status;
  const used = amountUsed(status);
  const { name, model, key, max, soft } = limit;
  const shown = (amount: number) =>
    unitOf(limit).noun === 'spending' ? usdOf(BigInt(amount) * 1000n) : amount;
  const of = [model !== undefined && `model ${model}`, key !== undefined && `key ${key}`].filter(Boolean);
  return {
    account,
    ...(key !== undefined && { key }),
    ...(model !== undefined && { model }),
    limit: name,
    title: [rowOf(limit).title, ...of].join(', '),
    threshold_percent: threshold,
    used_percent: Math.floor((used / max) * 100),
    used: shown(used),
    max: shown(max),
    remaining: shown(remaining),
    ...(soft && { soft }),
    resets_at: neverResets(limit) ? null : new Date(window_ends_ms).toISOString(),
  };
}
