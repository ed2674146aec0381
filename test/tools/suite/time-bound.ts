import { median } from '../figures.ts';

/** What `quiet.ts` has seen at one time. */
export interface QuietSample {
  readonly loop_ms: number;
  /** Cores that other programs have used since the sample before. */
  readonly foreign_cores: number;
}

/** The part of jest's report that is read. */
export interface SuiteReport {
  readonly startTime: number;
  readonly testResults: readonly {
    readonly name: string;
    readonly startTime: number;
    readonly endTime: number;
  }[];
}

/** Most seconds of all tests on two cores of a quiet machine, of which recipes of the documents take about 110. They took 528; the aim is 360: lower it as the tests get there. */
export const most_s = 720;
/** CPU milliseconds of the fixed loop, at its best, on the machine for which `most_s` was set: a slower one has as many times longer. */
const usual_loop_ms = 81;
/** Above these the machine is not quiet: times of the loop's best, and cores. */
const [most_slowed, most_foreign_cores] = [1.3, 0.3];

/** The ten test files that took longest, a line each, the longest first. */
export const longestFiles = ({ testResults }: SuiteReport, root: string): string[] =>
  testResults
    .map(({ name, startTime, endTime }) => [name.replace(root, ''), (endTime - startTime) / 1000] as const)
    .toSorted(([, one], [, other]) => other - one)
    .slice(0, 10)
    .map(([file, took_s]) => `${took_s.toFixed(1).padStart(7)} s  ${file}`);

/** Whether the tests took too long, and a line about it. A machine that was not quiet, or not watched, proves nothing. */
export function verdictOn(
  { startTime, testResults }: SuiteReport,
  samples: readonly QuietSample[],
  cores: number,
) {
  const took_s = (Math.max(startTime, ...testResults.map(({ endTime }) => endTime)) - startTime) / 1000;
  const text = `The tests took ${took_s.toFixed(0)} s. Bound of ${most_s} s on two cores of a quiet machine`;
  const why = disturbance(samples, cores);
  if (why !== undefined) return { isTooLong: false, line: `${text}: does not apply, ${why}` };
  const slowness = Math.max(1, Math.min(...samples.map(({ loop_ms }) => loop_ms)) / usual_loop_ms);
  const isTooLong = took_s > slowness * most_s;
  return {
    isTooLong,
    line: `${text}, ${slowness.toFixed(2)} times that here: ${isTooLong ? 'BROKEN' : 'kept'}`,
  };
}

/** Why the bound does not apply; undefined if it does. */
function disturbance(samples: readonly QuietSample[], cores: number): string | undefined {
  if (cores < 2) return 'there is one core';
  if (samples.length < 3) return 'the machine was not watched';
  const loops = samples.map(({ loop_ms }) => loop_ms);
  const slowed = median(loops) / Math.min(...loops);
  if (slowed > most_slowed) return `a fixed loop took ${slowed.toFixed(2)} times its best`;
  const foreign = median(samples.map(({ foreign_cores }) => foreign_cores));
  if (foreign > most_foreign_cores) return `other programs used ${foreign.toFixed(1)} cores`;
  return undefined;
}
