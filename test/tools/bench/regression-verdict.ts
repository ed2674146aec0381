import { median } from '../figures.ts';
import type { RungName } from './ladder/rungs.ts';
import type { Entry } from './measurement.ts';
import { cpu_us } from './result-table.ts';

/** A rung as it is, and as it was at the last release; both measured in the same rounds. */
export interface Pair {
  readonly name: RungName;
  readonly now: Entry;
  readonly released: Entry;
}

/** What counts as grown. */
const most = 1.25;

/** CPU per request of both in each round, in µs, and the median of their ratios. */
export function growthOf({ now, released }: Pair) {
  const [now_us, released_us] = [now.requests.map(cpu_us), released.requests.map(cpu_us)];
  const ratio = median(now_us.map((value, round) => value / released_us[round]!));
  return { now_us, released_us, ratio };
}

/** Whether a rung takes more than 25 % more CPU per request than it did. */
export const isGrown = (pair: Pair): boolean => growthOf(pair).ratio > most;
