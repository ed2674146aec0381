/** `npm run bench`: sluice beside other gateways, on one core, as Markdown tables. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as after } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { type Contestant, type Gateway, type Table, tablesOf } from './contestants.ts';
import { chatBody, completion } from './conversation.ts';
import type { Job, Result } from './generator.ts';
import { disturbance, thisMachine } from './machine.ts';
import { type Child, gateway_core, load_core, pinSelf, startOwn } from './processes.ts';
import { median } from './statistics.ts';
import { markdownTable } from './table.ts';

const usage = `npm run bench -- [options]

  --seconds N      length of one measurement (default 4)
  --rounds N       measurements per contestant, interleaved; the tables have their medians (default 3)
  --connections N  closed loop of this many connections (default 32)
  --streams N      streams at the same time, 20 events per second each; 0 measures none (default 200)
  --tables A,B     of gateways, passthrough, batches, parts and tuning (default gateways)
  --only A,B       only these contestants, by the names that progress is printed with
  --against COMMIT another commit of this repository as a contestant of the table gateways
  --json FILE      write every single measurement to FILE as well

Linux with taskset and two cores. Markdown tables on stdout, progress on stderr. Portkey is fetched from npm into the user's cache.
`;

interface Entry {
  readonly contestant: Contestant;
  gateway: Gateway | undefined;
  readonly requests: Result[];
  readonly streams: Result[];
  /** Why it does not take part, or what was wrong with its replies. */
  fault: string | undefined;
}

const say = (text: string): void => void process.stderr.write(`${text}\n`);
const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '4' },
    rounds: { type: 'string', default: '3' },
    connections: { type: 'string', default: '32' },
    streams: { type: 'string', default: '200' },
    tables: { type: 'string', default: 'gateways' },
    only: { type: 'string' },
    against: { type: 'string' },
    json: { type: 'string' },
    help: { type: 'boolean', short: 'h' },
  },
});

function numberOf(name: 'seconds' | 'rounds' | 'connections' | 'streams', low: number): number {
  const value = Number(values[name]);
  if (Number.isInteger(value) && value >= low && value <= 5000) return value;
  throw new Error(`--${name}: must be an integer from ${low} to 5000, not '${values[name]}'`);
}

/** The tables that are asked for, with those of their contestants that are. Throws an Error for a name that there is not. */
function chosenTables(): readonly Table[] {
  const all = tablesOf(values.against);
  const only = values.only?.split(',');
  return values.tables.split(',').map(name => {
    const table = all[name];
    if (!table) throw new Error(`--tables: must be of ${Object.keys(all).join(', ')}, not '${name}'`);
    const contestants = table.contestants.filter(contestant => only?.includes(contestant.name) ?? true);
    return { ...table, contestants };
  });
}

/** Retries until the gateway delivers the upstream's answer: the first job is a short one. */
async function untilAnswering(
  entry: Entry,
  job: (measure_ms: number) => Promise<Result | undefined>,
): Promise<void> {
  for (let tries = 0; tries < 20; tries++) {
    entry.fault = undefined;
    if (await job(100)) return;
    await after(200);
  }
}

async function measure(
  tables: readonly Table[],
  place: { directory: string; upstream: Child; generator: Child; upstream_port: number },
) {
  const [seconds, rounds, connections, streams] = [
    numberOf('seconds', 1),
    numberOf('rounds', 1),
    numberOf('connections', 1),
    numberOf('streams', 0),
  ];
  const run = async (
    entry: Entry,
    job: Pick<Job, 'kind' | 'clients' | 'measure_ms'>,
  ): Promise<Result | undefined> => {
    const { contestant, gateway } = entry;
    if (!gateway || entry.fault) return undefined;
    const { stream_options, frame_events = 0 } = contestant.streamed ?? {};
    const { port, pid, headers = {} } = gateway;
    const { task = 'chat' } = contestant;
    const told = place.generator.message<Result | { fault: string }>(job.measure_ms + 30_000);
    place.generator.send({
      ...job,
      task,
      port,
      pid,
      headers,
      stream_options,
      frame_events,
      upstream_pid: place.upstream.pid,
    });
    const result = await told;
    if (!('fault' in result)) return result;
    entry.fault = result.fault;
    return undefined;
  };
  const entries = new Map<string, Entry>();
  for (const contestant of tables.flatMap(table => table.contestants)) {
    if (entries.has(contestant.name)) continue;
    say(`starting ${contestant.name}`);
    const entry: Entry = { contestant, gateway: undefined, requests: [], streams: [], fault: undefined };
    entries.set(contestant.name, entry);
    try {
      entry.gateway = await contestant.start(place);
      await untilAnswering(entry, measure_ms => run(entry, { kind: 'requests', clients: 1, measure_ms }));
    } catch (thrown) {
      entry.fault = (thrown as Error).message;
    }
    if (entry.fault) say(`${contestant.name} does not take part: ${entry.fault}`);
  }
  // Round 0 is thrown away: a second of warm-up is not enough for code that has never run.
  for (const kind of ['requests', 'streams'] as const)
    for (let round = 0; round <= rounds; round++)
      for (const entry of entries.values()) {
        if (kind === 'streams' && (streams === 0 || !entry.contestant.streamed)) continue;
        const clients = kind === 'requests' ? connections : streams;
        const result = await run(entry, { kind, clients, measure_ms: seconds * 1000 });
        if (result && round > 0) entry[kind].push(result);
        const what = result
          ? `${Math.round(result.count / result.seconds)} ${kind === 'requests' ? kind : 'events'}/s`
          : entry.fault;
        say(`${round === 0 ? 'rehearsal' : `round ${round}`} ${entry.contestant.name}: ${what}`);
      }
  return entries;
}

const perSecond = (results: readonly Result[]) => results.map(({ count, seconds }) => count / seconds);
const cpu_us = (results: readonly Result[]) => results.map(({ cpu_s, count }) => (cpu_s / count) * 1e6);
const shown = (values: readonly number[], digits: number): string => {
  const middle = median(values);
  return Number.isNaN(middle) ? '–' : middle.toFixed(digits);
};
/** The median of what `values` are of `base`, round by round: the machine is faster in one round than in another, for both alike. */
const ratio = (values: readonly number[], base: readonly number[] = []): string => {
  const middle = median(
    values.map((value, round) => value / base[round]!).filter(value => !Number.isNaN(value)),
  );
  return Number.isNaN(middle) ? '–' : `${middle.toFixed(2)}×`;
};

function tableText({ title, baseline, contestants }: Table, entries: ReadonlyMap<string, Entry>): string {
  const base = entries.get(baseline);
  const requestsHead = ['Requests/s', '× baseline', 'p50 ms', 'p99 ms', 'CPU µs per request', '× baseline'];
  const rows = contestants.map(({ name }) => {
    const { contestant, requests, streams, fault } = entries.get(name)!;
    if (fault) return [`${contestant.title}: ${fault.replaceAll(/[\s|]+/g, ' ').slice(0, 200)}`];
    return [
      contestant.title,
      shown(perSecond(requests), 0),
      ratio(perSecond(requests), base && perSecond(base.requests)),
      shown(
        requests.map(({ p50_ms }) => p50_ms),
        2,
      ),
      shown(
        requests.map(({ p99_ms }) => p99_ms),
        2,
      ),
      shown(cpu_us(requests), 1),
      ratio(cpu_us(requests), base && cpu_us(base.requests)),
      shown(cpu_us(streams), 1),
      ratio(cpu_us(streams), base && cpu_us(base.streams)),
    ];
  });
  const head = ['Gateway', ...requestsHead, 'CPU µs per event', '× baseline'];
  return `**${title}**, × baseline: divided by ${baseline}\n\n${markdownTable(head, rows)}`;
}

/** Notes on contestants whose figures were limited by something else. */
function doubts({ contestant, requests, streams }: Entry): string[] {
  const loaded = median([...requests, ...streams].map(({ load_cpu_s, seconds }) => load_cpu_s / seconds));
  const pace = median(streams.map(result => result.pace));
  return [
    ...(loaded > 0.9
      ? [`${contestant.name}: generator and upstream used ${Math.round(loaded * 100)} % of their core`]
      : []),
    ...(pace < 0.97 ? [`${contestant.name}: delivered ${Math.round(pace * 100)} % of the pace`] : []),
  ];
}

async function main(): Promise<void> {
  if (values.help) return void process.stdout.write(usage);
  const tables = chosenTables();
  const machine = thisMachine();
  pinSelf(load_core);
  const directory = mkdtempSync(join(tmpdir(), 'sluice-bench-'));
  process.once('exit', () => rmSync(directory, { recursive: true, force: true }));
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
  const upstream = startOwn(load_core, 'upstream.ts');
  const { port: upstream_port } = await upstream.message<{ port: number }>();
  const generator = startOwn(load_core, 'generator.ts');
  await generator.message();
  const entries = await measure(tables, { directory, upstream, generator, upstream_port });
  const foot = [
    `Gateways on core ${gateway_core}, one at a time under load; load generator and upstream on core ${load_core}; medians, of ratios too, of ${values.rounds} interleaved rounds of ${values.seconds} s after one that is thrown away.`,
    `Requests: closed loop, ${values.connections} connections, ${chatBody().length} bytes of JSON in, ${completion.length} out. Events: ${values.streams} streams of 20 events per second. CPU: user and system time of all threads and processes of the gateway. Every reply is checked.`,
    ...disturbance(machine),
    ...[...entries.values()].flatMap(doubts),
  ];
  const command = [
    'npm run bench',
    ...(process.argv.length > 2 ? ['--', ...process.argv.slice(2)] : []),
  ].join(' ');
  const where = `${machine.cpu}, ${machine.cores} cores, ${machine.kernel}, Node ${machine.node}, ${machine.date}\n\`${command}\``;
  const texts = [
    where,
    ...tables.map(table => tableText(table, entries)),
    foot.map(line => `- ${line}`).join('\n'),
  ];
  process.stdout.write(`${texts.join('\n\n')}\n`);
  const measured = [...entries].map(([name, { requests, streams, fault }]) => ({
    name,
    requests,
    streams,
    fault,
  }));
  if (values.json) writeFileSync(values.json, JSON.stringify({ machine, command, measured }, null, 2));
}

main().then(
  () => process.exit(),
  (error: Error) => {
    say(error.message);
    process.exit(1);
  },
);
