import { type AttemptSum, duration_bounds_ms, first_token_bounds_ms } from '../../src/plugin.ts';
import { timeWithin } from './traffic-groups.ts';

/** The kind of attempts whose request was wrong: they say nothing of the provider. */
const clients_kind = 'refused';
/** The kind of those whose connection alone has failed, which are sent again. In no rate, as in the alerts. */
const resent_kind = 'stale_connection';

/** Shares of attempts whose times are shown. */
const shares = [0.5, 0.95, 0.99] as const;

/** What attempts add up to. */
export interface AttemptFigures {
  /** Those that were completed, or failed for a reason that says something of the provider. */
  readonly attempts: number;
  /** How many of these failed. */
  readonly failed: number;
  /** Failed attempts of every kind, the most frequent first. */
  readonly kinds: readonly (readonly [kind: string, attempts: number])[];
  /** Within how many milliseconds half, 95 % and 99 % had their first token, as far as they had one, and ended; undefined without any. */
  readonly first_token_ms: readonly (number | undefined)[];
  readonly duration_ms: readonly (number | undefined)[];
}

/** Adds up attempts, such as those of a provider. */
export function attemptFigures(sums: readonly AttemptSum[]): AttemptFigures {
  const failed = sums.filter(({ outcome }) => outcome === 'failed');
  const kinds = [...Map.groupBy(failed, ({ kind }) => kind)]
    .map(([kind, alike]) => [kind, countOf(alike)] as const)
    .sort(([, a], [, b]) => b - a);
  const rated = countOf(failed.filter(({ kind }) => kind !== clients_kind && kind !== resent_kind));
  return {
    attempts: rated + countOf(sums.filter(({ outcome }) => outcome === 'completed')),
    failed: rated,
    kinds,
    first_token_ms: timesIn(sums, 'first_tokens', first_token_bounds_ms),
    duration_ms: timesIn(sums, 'durations', duration_bounds_ms),
  };
}

const countOf = (sums: readonly AttemptSum[]): number =>
  sums.reduce((total, { attempts }) => total + attempts, 0);

function timesIn(
  sums: readonly AttemptSum[],
  name: 'first_tokens' | 'durations',
  bounds_ms: readonly number[],
): AttemptFigures['duration_ms'] {
  // One more than the bounds: that of all that took longer.
  const counts = [...bounds_ms, Infinity].map((_, at) => sums.reduce((all, sum) => all + sum[name][at]!, 0));
  return shares.map(share => timeWithin(counts, bounds_ms, share));
}
