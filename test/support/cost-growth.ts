import { threadCpuUsage } from 'node:process';

/** Prepares work of a given size; the returned function is measured. */
export type Prepare = (size: number) => () => unknown;

/** The larger input divided by the smaller: two doublings. */
const factor = 4;
/** The most that the work may grow by over both doublings: 2.5 times at each. */
export const most_growth = 2.5 ** 2;
/** Shorter times are not compared: some systems count CPU time in steps of 10 ms, and a garbage collection takes as long. */
const least_ms = 25;
const most_rounds = 8;

/**
 * How many times the CPU time of four times the input is that of the input; 0 when both are too short to tell. The larger input is measured
 * against four times the smaller one by turns, for as long as they disagree with `most_growth`. Of each the fastest round counts: a
 * collection, or a neighbour on the machine, makes a round slower and never faster.
 */
export async function costGrowth(prepare: Prepare, size: number): Promise<number> {
  let large_ms = Number.POSITIVE_INFINITY;
  let small_ms = Number.POSITIVE_INFINITY;
  for (let round = 0; round < most_rounds; round++) {
    large_ms = Math.min(large_ms, await cpuTime_ms([prepare(size * factor)]));
    if (large_ms < least_ms) return 0;
    small_ms = Math.min(small_ms, await cpuTime_ms(Array.from({ length: factor }, () => prepare(size))));
    if (growth(large_ms, small_ms) <= most_growth) break;
  }
  return growth(large_ms, small_ms);
}

const growth = (large_ms: number, small_ms: number): number => (large_ms * factor) / Math.max(small_ms, 1);

async function cpuTime_ms(works: readonly (() => unknown)[]): Promise<number> {
  const before = threadCpuUsage();
  for (const work of works) await work();
  const { user, system } = threadCpuUsage(before);
  return (user + system) / 1000;
}
