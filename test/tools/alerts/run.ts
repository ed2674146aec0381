/** `npm run alerts`: every alert provoked on real processes, seen by a real Prometheus. */
import { runCases } from './alert-run.ts';
import { allCases } from './all-cases.ts';
import type { ProvokedCase } from './provoked-case.ts';

/** Cases at the same time: their clients and gateways share one process. */
const at_once = 7;

const chosen = process.argv.slice(2);
const unknown = chosen.filter(job => !allCases.some(one => one.job === job));
if (unknown.length > 0)
  throw new Error(`no case ${unknown}; there are: ${allCases.map(({ job }) => job).join(' ')}`);
const cases = allCases.filter(({ job }) => chosen.length === 0 || chosen.includes(job));
let wrong = 0;
for (let at = 0; at < cases.length; at += at_once) wrong += await report(cases.slice(at, at + at_once));
process.exit(wrong > 0 ? 1 : 0);

/** Runs and prints these; returns how many went wrong. */
async function report(group: readonly ProvokedCase[]): Promise<number> {
  const results = await runCases(group);
  const lines = results.flatMap(({ job, faults, seconds }, at) => [
    `${faults.length === 0 ? 'as it must' : 'WRONG     '}  ${job}: ${group[at]!.what}`,
    ...Object.entries(seconds).map(
      ([alert, [fired, resolved]]) =>
        `            ${alert} fired after ${fired} s, was resolved ${resolved} s after the end`,
    ),
    ...faults.map(fault => `            ${fault}`),
  ]);
  process.stdout.write(`${lines.join('\n')}\n`);
  return results.filter(({ faults }) => faults.length > 0).length;
}
