/** `summary.ts REPORT SAMPLES CLIENTS`: what the reports of jest and of the client libraries say, and whether jest's tests took too long. */
import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { longestFiles, type QuietSample, type SuiteReport, verdictOn } from './time-bound.ts';

/** Counts of jest's report, none if it has not got that far. */
type Report = Partial<SuiteReport> & {
  readonly [name in
    | `num${'Passed' | 'Failed' | 'Pending' | 'Todo'}Tests`
    | 'numRuntimeErrorTestSuites']?: number;
};

const [, , reportFile = '', samplesFile = '', clientsFile = ''] = process.argv;
/** An empty file is that of a run that has not got far enough. */
const read = <T>(file: string, without: T): T => {
  const text = readFileSync(file, 'utf8');
  return text === '' ? without : (JSON.parse(text) as T);
};

const {
  numPassedTests: passed = 0,
  startTime = 0,
  testResults = [],
  ...counts
} = read<Report>(reportFile, {});
const clients = read<{ readonly passed?: number; readonly failed?: number }>(clientsFile, {});
// A skipped test, a suite that did not load and a run without tests are failures as well.
const skipped = (counts.numPendingTests ?? 0) + (counts.numTodoTests ?? 0);
const failedInJest = (counts.numFailedTests ?? 0) + (counts.numRuntimeErrorTestSuites ?? 0) + skipped;
const ranNothing = [
  ...(passed + failedInJest === 0 ? ['jest'] : []),
  ...((clients.passed ?? 0) + (clients.failed ?? 0) === 0 ? ['npm run clients'] : []),
];
const failed = failedInJest + (clients.failed ?? 0) + ranNothing.length;
const suite = { startTime, testResults };
const verdict = verdictOn(suite, read<QuietSample[]>(samplesFile, []), availableParallelism());
const lines = [
  'What took longest:',
  ...longestFiles(suite, `${process.cwd()}/`),
  verdict.line,
  ...(skipped > 0 ? [`${skipped} tests were skipped, which counts as failed`] : []),
  ...ranNothing.map(name => `${name} has run no tests, which counts as failed`),
  `${passed + (clients.passed ?? 0)} passed, ${failed} failed`,
];
process.stdout.write(`${lines.join('\n')}\n`);
process.exit(failed === 0 && !verdict.isTooLong ? 0 : 1);
