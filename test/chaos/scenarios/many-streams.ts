import { availableParallelism } from 'node:os';
import { setTimeout as after } from 'node:timers/promises';
import { Client } from 'undici';
import { cpuSecondsOf } from '../../bench/process-cpu.ts';
import { quantile } from '../../bench/statistics.ts';
import { CountedStream, type Tally } from '../../bench/stream-reader.ts';
import type { Books } from '../books.ts';
import { chat, type Kind } from '../clients/errand.ts';
import { onCores } from '../gateway-process.ts';
import { check, type Scenario } from '../scenario.ts';
import { readVitals } from '../vitals.ts';
import type { World } from '../world.ts';

/** How many streams are opened in a second; a client that opens them all at once measures only that. */
const opened_per_second = 400;
const warmup_ms = 2000;
/** Streams go on for so long after the measurement. */
const spare_ms = 1500;
/** How much later than planned the last stream may end. */
const patience_ms = 60_000;
const kind: Kind = { name: 'paced stream', weight: 1, good: true, make: () => errand };
const errand = { request: { method: '', path: '', headers: {}, body: '' }, endings: ['completed'] } as const;

interface Pace {
  readonly streams: number;
  readonly tokens_per_second: number;
}

/** Streams that run at the same time, each at the same pace; the gateway alone on its core, where there are two. */
const streams = (name: string, pace: Pace): Scenario => ({
  name,
  what: `${pace.streams} streams of ${pace.tokens_per_second} tokens per second: what the gateway adds to a provider that is asked directly.`,
  clients: [],
  peak_rss_mb: 1500,
  // They last as long as the provider makes them.
  slowest_good_ms: Number.POSITIVE_INFINITY,
  drive: (world, books, seconds) =>
    measured(world, books, seconds, { ...pace, streams: Math.ceil(pace.streams * world.options.load) }),
  checks: ({ books }) => {
    const [asked = 0] = books.asked.values();
    return [check('every stream came whole', books.rows === asked, `${books.rows} rows of ${asked}`)];
  },
});

export const manyStreams = [
  streams('many-streams', { streams: 1000, tokens_per_second: 20 }),
  streams('many-slow-streams', { streams: 5000, tokens_per_second: 1 }),
];

async function measured(world: World, books: Books, seconds: number, pace: Pace) {
  const [{ pid, adminUrl }] = world.gateways as [World['gateways'][0]];
  const all = `0-${availableParallelism() - 1}`;
  const load_core = availableParallelism() > 1 ? '1' : '0';
  for (const each of [process.pid, ...world.providers.map(provider => provider.pid)])
    onCores(load_core, each);
  onCores('0', pid);
  try {
    const open_ms = Math.max(500, (pace.streams / opened_per_second) * 1000);
    const measure_ms = Math.max(1000, seconds * 500 - open_ms - warmup_ms - spare_ms);
    const direct = await together(world, undefined, 'direct', { ...pace, open_ms, measure_ms });
    await together(world, books, 'x0', { streams: 50, tokens_per_second: 40, open_ms: 500, measure_ms: 500 });
    const before = await readVitals(adminUrl);
    const through = await together(world, books, 'x1', { ...pace, open_ms, measure_ms });
    const bytes = through.rss_bytes - before.rss_bytes;
    return {
      'events per second': (through.events / through.seconds).toFixed(0),
      'CPU µs per event': ((through.cpu_s / through.events) * 1e6).toFixed(1),
      "gateway's core": `${((100 * through.cpu_s) / through.seconds).toFixed(0)} %`,
      'memory per stream KiB': (bytes / pace.streams / 1024).toFixed(1),
      'p99 gap direct ms': direct.gap_p99_ms.toFixed(1),
      'p99 gap through ms': through.gap_p99_ms.toFixed(1),
      'faults without the gateway': direct.fault(),
      'kept pace': `${((100 * through.events) / through.due_events).toFixed(0)} %`,
    };
  } finally {
    onCores(all, process.pid);
  }
}

async function together(
  { gateways: [gateway], providers: [provider] }: World,
  books: Books | undefined,
  prefix: string,
  { streams: count, tokens_per_second, open_ms, measure_ms }: Pace & { open_ms: number; measure_ms: number },
) {
  const { origin } = new URL(books ? gateway!.url : provider!.url);
  const lasting_ms = open_ms + warmup_ms + measure_ms + spare_ms;
  const tokens = Math.ceil((lasting_ms / 1000) * tokens_per_second);
  const tally: Tally = { events: 0, fault: undefined };
  const gaps_ms: number[] = [];
  const open: CountedStream[] = [];
  const clients: Client[] = [];
  const begin = (): void => {
    const id = `${prefix}-${open.length}`;
    void books?.begin(id, kind, errand, gateway!);
    const { path, headers, body } = chat(
      `Tell me about rivers, ${id}. [[sim:reasoning=none tokens=${tokens} tps=${tokens_per_second}]]`,
      // A gateway asks for both; asked directly, vLLM gives running usage only together with the final one.
      { stream: true, stream_options: { include_usage: true, continuous_usage_stats: true } },
    );
    const client = new Client(origin, { bodyTimeout: 0 });
    clients.push(client);
    const request = {
      path,
      method: 'POST',
      headers: { ...headers, 'x-request-id': id },
      body: String(body),
    } as const;
    const onEnd = (fault?: string) => books?.end(id, { status: 200, text: '', complete: true, fault });
    // The tokens, `[DONE]`, and at least the role before them.
    const isWhole = (events: number) => events >= tokens + 2;
    open.push(new CountedStream(client, request, tally, isWhole, onEnd));
  };
  const begun_ms = performance.now();
  while (open.length < count) {
    const due = Math.ceil(((performance.now() - begun_ms) / open_ms) * count);
    while (open.length < Math.min(due, count)) begin();
    await after(5);
  }
  await after(warmup_ms);
  const pid = gateway!.pid;
  const from = { events: tally.events, cpu_s: cpuSecondsOf(pid), at_ms: performance.now() };
  tally.gaps_ms = gaps_ms;
  await after(measure_ms);
  tally.gaps_ms = undefined;
  const seconds = (performance.now() - from.at_ms) / 1000;
  const { rss_bytes } = await readVitals(gateway!.adminUrl);
  const result = {
    seconds,
    rss_bytes,
    events: tally.events - from.events,
    cpu_s: cpuSecondsOf(pid) - from.cpu_s,
    due_events: count * tokens_per_second * seconds,
    fault: () => tally.fault ?? 'none',
    gap_p99_ms: quantile(Float64Array.from(gaps_ms).sort(), 0.99),
  };
  const deadline_ms = performance.now() + lasting_ms + patience_ms;
  while (open.some(({ ended }) => !ended) && performance.now() < deadline_ms) await after(50);
  for (const client of clients) void client.destroy();
  return result;
}
