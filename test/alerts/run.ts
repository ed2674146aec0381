/** `npm run alerts`: every alert provoked on real processes, seen by a real Prometheus. */
import { runCases } from './alert-run.ts';
import { allCases } from './all-cases.ts';

const chosen = process.argv.slice(2);
const cases = allCases.filter(({ job }) => chosen.length === 0 || chosen.includes(job));
const print = (text: string): void => void process.stdout.write(`${text}\n`);
const results = await runCases(cases);
for (const [at, { job, faults, seconds }] of results.entries()) {
  print(`${faults.length === 0 ? 'as it must' : 'WRONG     '}  ${job}: ${cases[at]!.what}`);
  for (const [alert, [fired, resolved]] of Object.entries(seconds))
    print(`              ${alert} fired after ${fired} s, resolved ${resolved} s after the end`);
  for (const fault of faults) print(`              ${fault}`);
}
process.exit(results.some(({ faults }) => faults.length > 0) ? 1 : 0);
