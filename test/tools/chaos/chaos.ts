/** `npm run chaos`: gateways under load while clients, stores and providers fail and processes get signals. */
import { writeFileSync } from 'node:fs';
import { Command } from 'commander';
import { listOf, numberFrom } from '../command-options.ts';
import { thisMachine } from '../machine.ts';
import { cleanUpAfterExit } from './cleanup.ts';
import { figuresOf, scenarioReport, summary } from './report.ts';
import { type Result, runScenario } from './run.ts';
import { scenarios } from './scenarios/index.ts';

const names = Object.fromEntries(scenarios.map(scenario => [scenario.name, scenario]));
const print = (text: string): void => void process.stdout.write(`${text}\n`);

const options = new Command('npm run chaos --')
  .description(
    'Gateways, providers and stores as processes on loopback. A report in Markdown on stdout, progress on stderr; exit code 1 when a promise was broken.',
  )
  .option('--scenario <A,B>', 'which scenarios (default: all)', listOf(names))
  .option(
    '--minutes <N>',
    'how long all of them take together (default: half a minute each)',
    numberFrom(0.05, 1440, false),
  )
  .option('--load <N>', 'times as many clients', numberFrom(0.01, 100, false), 1)
  .option('--seed <N>', 'what clients do: the same seed, the same requests', numberFrom(0, 1_000_000), 1)
  .option('--json <FILE>', 'the report as JSON as well')
  .option('--list', 'the scenarios')
  .parse()
  .opts();

if (options.list) {
  print(scenarios.map(({ name, what }) => `${name.padEnd(22)} ${what}`).join('\n'));
  process.exit();
}
const { scenario: chosen = scenarios, minutes = chosen.length / 2, load, seed } = options;
const seconds = (minutes * 60) / chosen.length;
const directory = await cleanUpAfterExit();
const machine = thisMachine();
const runs: Record<string, ReturnType<typeof figuresOf> & { checks: Result['checks']; faults: string[] }> =
  {};
const broken: string[] = [];
for (const scenario of chosen) {
  process.stderr.write(`${scenario.name}, ${seconds.toFixed(0)} s, in ${directory}\n`);
  try {
    const result = await runScenario(scenario, { seconds, seed, load });
    const figures = figuresOf(result);
    runs[scenario.name] = { ...figures, checks: result.checks, faults: result.findings.comparison.faults };
    print(scenarioReport(result, figures));
    if (!figures.held) broken.push(scenario.name);
  } catch (fault) {
    broken.push(scenario.name);
    print(`## ${scenario.name}: **BROKEN**\n\n${(fault as Error).stack}\n`);
  }
}
print(summary(runs, machine, ['npm run chaos --', ...process.argv.slice(2)].join(' ')));
print(broken.length === 0 ? 'Every promise was kept.' : `Broken: ${broken.join(', ')}`);
if (options.json) writeFileSync(options.json, JSON.stringify({ machine, broken, runs }, null, 2));
process.exit(broken.length === 0 ? 0 : 1);
