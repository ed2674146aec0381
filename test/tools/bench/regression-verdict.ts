import { median } from '../figures.ts';
import type { Entry, Kind } from './measurement.ts';
import { cpu_us } from './result-table.ts';

/** A sidecar as it is, and as it was at the last release; both measured in the same rounds. */
export interface Pair {
  readonly name: string;
  readonly now: Entry;
  readonly released: Entry;
}

/** What counts as grown. */
const most = 1.25;

/** CPU per request, or per event, of both in each round, in µs, and the median of their ratios. */
export function growthOf({ now, released }: Pair, kind: Kind = 'requests') {
  const [now_us, released_us] = [now[kind].map(cpu_us), released[kind].map(cpu_us)];
  const ratio = median(now_us.map((value, round) => value / released_us[round]!));
  return { now_us, released_us, ratio };
}

/** Whether a sidecar takes more than 25 % more CPU than it did, for a request or for an event, where that was measured. */
export const isGrown = (pair: Pair): boolean =>
  (['requests', 'streams'] as const).some(kind => growthOf(pair, kind).ratio > most);
