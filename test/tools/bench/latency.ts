/** `npm run bench:latency`: what gateways add to the time of a reply, at a rate that they can bear. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command } from 'commander';
import { numberFrom } from '../command-options.ts';
import { markdownTable, median } from '../figures.ts';
import { disturbance, load_core, machineText, moveTo, thisMachine } from '../machine.ts';
import { startOwn } from '../processes.ts';
import { direct, proxy, root } from './contestants.ts';
import { type Entry, measureAll, say, started } from './measurement.ts';
import { measureAtRate } from './rate-load.ts';
import type { Written } from './run.ts';
import { sluice } from './sluice-contestants.ts';

const options = new Command('npm run bench:latency --')
  .description(
    'Linux with taskset and two cores. Finds out how many requests per second the sidecar answers, and sends a third of that without waiting for replies. A table in Markdown on stdout, progress on stderr.',
  )
  .option('--rounds <N>', 'rounds in which the gateways take turns', numberFrom(1, 1000), 7)
  .option('--seconds <N>', 'length of one measurement', numberFrom(0.5, 600, false), 2)
  .option(
    '--rate <N>',
    'requests per second (default: a third of what the sidecar answers)',
    numberFrom(1, 100_000),
  )
  .option('--json <FILE>', 'write the figures to FILE as well')
  .parse()
  .opts<{ rounds: number; seconds: number; rate?: number; json?: string }>();

/** A third of the requests per second that the sidecar answers in a closed loop; all gateways are warm after it. */
async function thirdOfMost(entries: readonly Entry[], upstream_pid: number): Promise<number> {
  await measureAll(entries, { rounds: 2, seconds: 1, connections: 32, streams: 0 }, upstream_pid);
  for (const { contestant, fault } of entries) if (fault) throw new Error(`${contestant.name}: ${fault}`);
  const { requests } = entries.find(({ contestant }) => contestant === sluice)!;
  return Math.round(median(requests.map(({ count, seconds }) => count / seconds)) / 3);
}

/** Latencies of a gateway in every round, in ms. */
interface Row {
  readonly entry: Entry;
  readonly p50_ms: number[];
  readonly p99_ms: number[];
}

/** Measures all in turn; the first round is thrown away. */
async function measureRows(rows: readonly Row[], rate: number): Promise<void> {
  for (let round = 0; round <= options.rounds; round++)
    for (const { entry, p50_ms, p99_ms } of rows) {
      const { port } = entry.gateway!;
      const origin = `http://127.0.0.1:${port}`;
      const { p50, p99 } = await measureAtRate({ origin, rate, measure_ms: options.seconds * 1000 });
      say(`round ${round} ${entry.contestant.name}: ${p99.toFixed(2)} ms`);
      if (round === 0) continue;
      p50_ms.push(p50);
      p99_ms.push(p99);
    }
}

const shown = (ms: number): string => ms.toFixed(2);

/** The medians of every gateway; what it adds is the median over the rounds. */
function tableOf(rows: readonly Row[], rate: number) {
  const [reference] = rows;
  const cells = rows.map(({ entry, p50_ms, p99_ms }) => {
    const added = p99_ms.map((ms, round) => ms - reference!.p99_ms[round]!);
    const figures = { p50_ms: median(p50_ms), p99_ms: median(p99_ms), added_p99_ms: median(added) };
    return { entry, figures };
  });
  const lines = cells.map(({ entry, figures }) => [
    entry.contestant.title,
    shown(figures.p50_ms),
    shown(figures.p99_ms),
    entry === reference?.entry ? '' : shown(figures.added_p99_ms),
  ]);
  const table = markdownTable(['Gateway', 'p50 ms', 'p99 ms', 'added, p99 ms'], lines);
  return {
    text: `**Added latency** at ${rate} requests/s\n\n${table}`,
    figures: Object.fromEntries(cells.map(({ entry, figures }) => [entry.contestant.name, figures])),
  };
}

async function main(): Promise<void> {
  const machine = thisMachine();
  moveTo(load_core, process.pid);
  const directory = mkdtempSync(join(tmpdir(), 'sluice-bench-'));
  process.once('exit', () => rmSync(directory, { recursive: true, force: true }));
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
  const upstream = await startOwn(load_core, join(root, 'test/tools/bench/upstream.ts'));
  const rows: Row[] = [];
  for (const contestant of [direct, proxy(), sluice]) {
    const entry = await started(contestant, { directory, upstream });
    if (entry.fault) throw new Error(`${contestant.name}: ${entry.fault}`);
    rows.push({ entry, p50_ms: [], p99_ms: [] });
  }
  const entries = rows.map(({ entry }) => entry);
  const rate = options.rate ?? (await thirdOfMost(entries, upstream.pid));
  await measureRows(rows, rate);
  const { text, figures } = tableOf(rows, rate);
  const command = ['npm run bench:latency --', ...process.argv.slice(2)].join(' ');
  const written: Written = { machine, command, tables: [text], doubts: disturbance(machine), figures };
  if (options.json) writeFileSync(options.json, JSON.stringify(written, null, 2));
  process.stdout.write(`${machineText(machine)}\n\`${command}\`\n\n${text}\n`);
}

main().then(
  () => process.exit(),
  (error: Error) => {
    say(error.message);
    process.exit(1);
  },
);
