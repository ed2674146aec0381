import { writeFileSync } from 'node:fs';
import { listOf, numberFrom } from '../command-options.ts';
import { thisMachine } from '../machine.ts';
import { defineTool, say } from '../tool.ts';
import { cleanUpAfterExit } from './cleanup.ts';
import { figuresOf, type RunFigures, scenarioReport, summary } from './report.ts';
import { type Result, runScenario } from './run.ts';
import type { Scenario } from './scenario.ts';
import { scenarios } from './scenarios/index.ts';

interface Options {
  readonly scenario?: readonly Scenario[];
  readonly minutes?: number;
  readonly load: number;
  readonly seed: number;
  readonly json?: string;
  readonly list?: true;
}

const names = Object.fromEntries(scenarios.map(scenario => [scenario.name, scenario]));
const print = (text: string): void => void process.stdout.write(`${text}\n`);

/** Gateways under load while clients, stores and providers fail and processes get signals. */
export const tool = defineTool<Options>({
  about:
    'Gateways, providers and stores as processes on loopback. A report in Markdown on stdout, progress on stderr; exit code 1 when a promise was broken.',
  options: command =>
    command
      .option('--scenario <A,B>', 'which scenarios (default: all)', listOf(names))
      .option(
        '--minutes <N>',
        'how long all of them take together (default: half a minute each)',
        numberFrom(0.05, 1440, false),
      )
      .option('--load <N>', 'times as many clients', numberFrom(0.01, 100, false), 1)
      .option('--seed <N>', 'what clients do: the same seed, the same requests', numberFrom(0, 1_000_000), 1)
      .option('--json <FILE>', 'the report as JSON as well')
      .option('--list', 'the scenarios'),
  async run({ options, command }) {
    const { scenario: chosen = scenarios, minutes = chosen.length / 2, load, seed } = options;
    if (options.list) {
      print(scenarios.map(({ name, what }) => `${name.padEnd(22)} ${what}`).join('\n'));
      return true;
    }
    const seconds = (minutes * 60) / chosen.length;
    const directory = await cleanUpAfterExit();
    const machine = thisMachine();
    const runs: Record<string, RunFigures & Pick<Result, 'checks'>> = {};
    const broken: string[] = [];
    for (const scenario of chosen) {
      say(`${scenario.name}, ${seconds.toFixed(0)} s, in ${directory}`);
      try {
        const result = await runScenario(scenario, { seconds, seed, load });
        const figures = figuresOf(result);
        runs[scenario.name] = { ...figures, checks: result.checks };
        print(scenarioReport(result, figures));
        if (!figures.held) broken.push(scenario.name);
      } catch (fault) {
        broken.push(scenario.name);
        print(`## ${scenario.name}: **BROKEN**\n\n${(fault as Error).stack}\n`);
      }
    }
    print(summary(runs, machine, command));
    print(broken.length === 0 ? 'Every promise was kept.' : `Broken: ${broken.join(', ')}`);
    if (options.json) writeFileSync(options.json, JSON.stringify({ machine, broken, runs }, null, 2));
    return broken.length === 0;
  },
});
