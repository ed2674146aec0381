import { describe, expect, it } from '@jest/globals';
import { longestFiles, most_s, verdictOn } from '../../../tools/suite/time-bound.ts';

/** A run of files that began together and took so many seconds each. */
const runOf = (...seconds: readonly number[]) => ({
  startTime: 1000,
  testResults: seconds.map((took_s, at) => ({
    name: `/tree/test/${at}.test.ts`,
    startTime: 1000,
    endTime: 1000 + took_s * 1000,
  })),
});
const samplesOf = (loops: readonly number[], foreign_cores = 0) =>
  loops.map(loop_ms => ({ loop_ms, foreign_cores }));
const quiet = samplesOf([80, 82, 95]);
const long = runOf(5, most_s + 1);

describe('the bound on the time of all tests', () => {
  it('is broken on a quiet machine by a run that takes longer, and by no shorter one', () => {
    expect(verdictOn(long, quiet, 2)).toMatchObject({
      isTooLong: true,
      line: expect.stringMatching(/BROKEN$/),
    });
    expect(verdictOn(runOf(most_s), quiet, 2)).toMatchObject({
      isTooLong: false,
      line: expect.stringMatching(/kept$/),
    });
  });

  it.each([
    ['the fixed loop was slowed down', samplesOf([80, 110, 120]), 2, 'took 1.38 times its best'],
    ['other programs were running', samplesOf([80, 82, 95], 0.5), 2, 'other programs used 0.5 cores'],
    ['the machine has one core', quiet, 1, 'there is one core'],
    ['nothing was watched', [], 2, 'was not watched'],
  ])('does not apply when %s, and says so', (_, samples, cores, why) => {
    const { isTooLong, line } = verdictOn(long, samples, cores);
    expect(isTooLong).toBe(false);
    expect(line).toContain(`does not apply, `);
    expect(line).toContain(why);
  });

  it('applies when the loop or other programs disturbed less than half of the samples', () => {
    const some = [...quiet, ...samplesOf([300, 300], 2)];
    expect(verdictOn(long, some, 2).isTooLong).toBe(true);
  });
});

describe('the list of what took longest', () => {
  it('has ten files with their seconds, the longest first, by their paths in the tree', () => {
    const lines = longestFiles(runOf(...Array.from({ length: 12 }, (_, at) => at + 1)), '/tree/');
    expect(lines).toHaveLength(10);
    expect([lines[0], lines[9]]).toEqual(['   12.0 s  test/11.test.ts', '    3.0 s  test/2.test.ts']);
  });
});
