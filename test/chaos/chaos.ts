/** `npm run chaos`: gateways under load while clients, stores and providers fail and processes get signals. */
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { thisMachine } from '../bench/machine.ts';
import { guard } from './guard.ts';
import { figuresOf, scenarioReport, summary } from './report.ts';
import { type Result, runScenario } from './run.ts';
import { scenarios } from './scenarios/index.ts';

const usage = `npm run chaos -- [options]

  --scenario A,B   which scenarios (default: all)
  --minutes N      how long all of them take together (default: half a minute each)
  --load N         times as many clients (default 1)
  --seed N         what clients do: the same seed, the same errands (default 1)
  --json FILE      the report as JSON as well
  --list           the scenarios

Gateways, providers and stores as processes on loopback. A report in Markdown on stdout, progress on stderr; exit code 1 when a
promise was broken.
`;

const print = (text: string): void => void process.stdout.write(`${text}\n`);

async function main(argv: string[]): Promise<void> {
  const options = { type: 'string' } as const;
  const { values } = parseArgs({
    args: argv,
    options: {
      scenario: options,
      minutes: options,
      load: { ...options, default: '1' },
      seed: { ...options, default: '1' },
      json: options,
      list: { type: 'boolean' },
      help: { type: 'boolean', short: 'h' },
    },
  });
  if (values.help) return print(usage);
  if (values.list) return print(scenarios.map(({ name, what }) => `${name.padEnd(22)} ${what}`).join('\n'));
  const chosen = chosenOf(values.scenario);
  const minutes = numberOf('minutes', values.minutes ?? String(chosen.length / 2), 0.05, 1440);
  const seconds = (minutes * 60) / chosen.length;
  const load = numberOf('load', values.load, 0.01, 100);
  const seed = Math.floor(numberOf('seed', values.seed, 0, 1_000_000));
  const directory = await guard();
  const machine = thisMachine();
  const results: Result[] = [];
  const broken: string[] = [];
  for (const scenario of chosen) {
    process.stderr.write(`${scenario.name}, ${seconds.toFixed(0)} s, in ${directory}\n`);
    try {
      const result = await runScenario(scenario, { seconds, seed, load });
      results.push(result);
      print(scenarioReport(result));
      if (result.checks.some(({ holds }) => !holds)) broken.push(scenario.name);
    } catch (fault) {
      broken.push(scenario.name);
      print(`## ${scenario.name}: **BROKEN**\n\n${fault instanceof Error ? fault.stack : fault}\n`);
    }
  }
  print(summary(results, machine, ['npm run chaos', ...(argv.length > 0 ? ['--', ...argv] : [])].join(' ')));
  print(broken.length === 0 ? 'Every promise was kept.' : `Broken: ${broken.join(', ')}`);
  if (values.json)
    writeFileSync(values.json, JSON.stringify({ machine, broken, results: results.map(figuresOf) }, null, 2));
  process.exit(broken.length === 0 ? 0 : 1);
}

function chosenOf(names: string | undefined) {
  if (names === undefined) return scenarios;
  return names.split(',').map(name => {
    const scenario = scenarios.find(each => each.name === name);
    if (!scenario) throw new Error(`--scenario: there is no '${name}'; --list names them`);
    return scenario;
  });
}

function numberOf(name: string, text: string, low: number, high: number): number {
  const value = Number(text);
  if (!(value >= low && value <= high))
    throw new Error(`--${name}: must be a number from ${low} to ${high}, not '${text}'`);
  return value;
}

main(process.argv.slice(2)).catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(1);
});
