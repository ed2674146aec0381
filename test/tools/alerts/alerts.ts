import { defineTool } from '../tool.ts';
import { runCases } from './alert-run.ts';
import { allCases } from './all-cases.ts';
import type { ProvokedCase } from './provoked-case.ts';

/** Cases at the same time: their clients and gateways share one process. */
const at_once = 7;

/** Every alert provoked on real processes, seen by a real Prometheus. */
export const tool = defineTool({
  about: 'Prints how each case went, and fails if one went wrong.',
  options: command => command.argument('[NAME...]', `cases: ${allCases.map(({ job }) => job).join(', ')}`),
  async run({ names }) {
    const unknown = names.filter(job => !allCases.some(one => one.job === job));
    if (unknown.length > 0) throw new Error(`there is no case ${unknown}`);
    const cases = allCases.filter(({ job }) => names.length === 0 || names.includes(job));
    let wrong = 0;
    for (let at = 0; at < cases.length; at += at_once) wrong += await report(cases.slice(at, at + at_once));
    return wrong === 0;
  },
});

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
