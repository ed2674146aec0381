/** `npm run bench`: sluice beside other gateways, on one core, as Markdown tables. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Command } from 'commander';
import { listOf, numberFrom } from '../command-options.ts';
import {
  disturbance,
  gateway_core,
  load_core,
  type Machine,
  machineText,
  moveTo,
  thisMachine,
} from '../machine.ts';
import { startOwn } from '../processes.ts';
import { chatBody, completion } from './conversation.ts';
import { ladderText } from './ladder/ladder-table.ts';
import {
  type Entry,
  events_per_second,
  type MeasureOptions,
  measureAll,
  say,
  started,
} from './measurement.ts';
import { doubts, type Figures, figuresOf, tableText } from './result-table.ts';
import { tablesOf } from './tables.ts';

const count = numberFrom(1, 5000);
const names = (text: string): string[] => text.split(',');
const options = new Command('npm run bench --')
  .description(
    "Linux with taskset and two cores. Markdown tables on stdout, progress on stderr. Portkey is fetched from npm into the user's cache.",
  )
  .option('--seconds <N>', 'length of one measurement', numberFrom(0.1, 600, false), 1)
  .option('--rounds <N>', 'measurements per contestant, interleaved; the tables have their medians', count, 9)
  .option(
    '--connections <N>',
    'closed loop of this many connections; 0 measures no requests',
    numberFrom(0, 5000),
    32,
  )
  .option(
    '--streams <N>',
    `streams at the same time, ${events_per_second} events per second each; 0 measures none`,
    numberFrom(0, 5000),
    200,
  )
  .option('--tables <A,B>', `of ${Object.keys(tablesOf(undefined)).join(', ')}`, 'gateways')
  .option('--only <A,B>', 'only these contestants, by the names that progress is printed with', names)
  .option('--against <COMMIT>', 'another commit of this repository as a contestant of the table gateways')
  .option('--json <FILE>', 'write every single measurement to FILE as well')
  .parse()
  .opts<MeasureOptions & { tables: string; only?: string[]; against?: string; json?: string }>();

/** What `--json` writes, beside every single measurement. */
export interface Written {
  readonly machine: Machine;
  readonly command: string;
  /** The tables in Markdown. */
  readonly tables: readonly string[];
  /** Reasons to distrust them. */
  readonly doubts: readonly string[];
  /** Figures by contestant. */
  readonly figures: Readonly<Record<string, Figures>>;
}

async function main(): Promise<void> {
  // The tables that are asked for, with those of their contestants that are.
  const all = listOf(tablesOf(options.against))(options.tables);
  const tables = all.map(({ contestants, ...table }) => {
    const chosen = contestants.filter(({ name }) => options.only?.includes(name) ?? true);
    return { ...table, contestants: chosen };
  });
  const machine = thisMachine();
  moveTo(load_core, process.pid);
  const directory = mkdtempSync(join(tmpdir(), 'sluice-bench-'));
  process.once('exit', () => rmSync(directory, { recursive: true, force: true }));
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
  const upstream = await startOwn(load_core, fileURLToPath(new URL('upstream.ts', import.meta.url)));
  const entries = new Map<string, Entry>();
  for (const contestant of tables.flatMap(table => table.contestants)) {
    if (entries.has(contestant.name)) continue;
    entries.set(contestant.name, await started(contestant, { directory, upstream }));
  }
  await measureAll([...entries.values()], options, upstream.pid);
  const { rounds, seconds, connections, streams } = options;
  const doubtful = [...disturbance(machine), ...[...entries.values()].flatMap(doubts)];
  const notes = [
    `Gateways on core ${gateway_core}, one at a time under load; load generator and upstream on core ${load_core}; medians, of ratios too, of ${rounds} interleaved rounds of ${seconds} s after one that is thrown away.`,
    `Requests: closed loop, ${connections} connections, ${chatBody().length} bytes of JSON in, ${completion.length} out. Events: ${streams} streams of ${events_per_second} events per second. CPU: user and system time of all threads and processes of the gateway. Every reply is checked.`,
    ...doubtful,
  ];
  const command = [
    'npm run bench',
    ...(process.argv.length > 2 ? ['--'] : []),
    ...process.argv.slice(2),
  ].join(' ');
  const tableTexts = tables.map(table => (table.isLadder ? ladderText : tableText)(table, entries));
  const texts = [
    `${machineText(machine)}\n\`${command}\``,
    ...tableTexts,
    notes.map(line => `- ${line}`).join('\n'),
  ];
  process.stdout.write(`${texts.join('\n\n')}\n`);
  const figures = Object.assign({}, ...tables.map(table => figuresOf(table, entries)));
  const measured = [...entries].map(([name, { requests, streams, fault }]) => ({
    name,
    requests,
    streams,
    fault,
  }));
  const written: Written = { machine, command, tables: tableTexts, doubts: doubtful, figures };
  if (options.json) writeFileSync(options.json, JSON.stringify({ ...written, measured }, null, 2));
}

main().then(
  () => process.exit(),
  (error: Error) => {
    say(error.message);
    process.exit(1);
  },
);
