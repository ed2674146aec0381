import { threadCpuUsage } from 'node:process';

/** Prepares work of a given size; the returned function is measured. */
export type Prepare = (size: number) => () => unknown;

/** The larger input divided by the smaller: two doublings. */
const factor = 4;
/** The most that the work may grow by over both doublings: 2.5 times at each. */
export const most_growth = 2.5 ** 2;
/** Shorter times are not compared: some systems count CPU time in steps of 10 ms, and a garbage collection takes as long. */
const least_ms = 25;
/** A busy neighbour can slow the larger input for seconds; what is not linear disagrees in every round. */
const most_rounds = 40;

/**
 * How many times the CPU time of four times the input is that of the input; 0 when both are too short to tell. The larger input is measured
 * by turns with the smaller one, which is run up to four times until it can be told, for as long as they disagree with `most`. Of
 * each the fastest round counts: a collection, or a neighbour on the machine, makes a round slower and never faster.
 */
export async function costGrowth(prepare: Prepare, size: number, most = most_growth): Promise<number> {
  let large_ms = Number.POSITIVE_INFINITY;
  let small_ms = Number.POSITIVE_INFINITY;
  const growth = () => large_ms / Math.max(small_ms, 1 / factor);
  for (let round = 0; round < most_rounds; round++) {
    large_ms = Math.min(large_ms, await cpuTime_ms(prepare(size * factor), 1));
    if (large_ms < least_ms) return 0;
    small_ms = Math.min(small_ms, await cpuTime_ms(prepare(size), factor));
    if (growth() <= most) break;
  }
  return growth();
}

/** The time of one run of `work`: the mean of as many as take `least_ms`, but at most of `most_runs`. */
async function cpuTime_ms(work: () => unknown, most_runs: number): Promise<number> {
  const before = threadCpuUsage();
  let total_ms = 0;
  let runs = 0;
  while (runs < most_runs && total_ms < least_ms) {
    await work();
    runs++;
    const { user, system } = threadCpuUsage(before);
    total_ms = (user + system) / 1000;
  }
  return total_ms / runs;
}
