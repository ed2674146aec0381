/** `npm run crowd`: thousands of streams at the same time through one sidecar on one core, as one Markdown table. */
import { crowdOptionsOf, usage } from './crowd-options.ts';
import { measureReaders } from './crowd-readers.ts';
import { crowdReport, readersReport } from './crowd-report.ts';
import { measureCrowds } from './crowd-run.ts';
import { thisMachine } from './machine.ts';

const say = (text: string): void => void process.stderr.write(`${text}\n`);

async function main(argv: string[]): Promise<void> {
  const options = crowdOptionsOf(argv);
  if (!options) return void process.stdout.write(usage);
  const machine = thisMachine();
  const command = ['npm run crowd', ...(argv.length > 0 ? ['--', ...argv] : [])].join(' ');
  if (options.readers > 0) {
    const result = await measureReaders(options.readers, say);
    process.stdout.write(readersReport(result, machine, command));
    if (result.cut !== options.readers || result.end.in_flight !== 0) process.exitCode = 1;
    return;
  }
  const rows = await measureCrowds(options, say);
  process.stdout.write(crowdReport(rows, machine, command));
  if (rows.some(({ faults }) => faults.length > 0)) process.exitCode = 1;
}

main(process.argv.slice(2)).catch((error: unknown) => {
  say(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
});
