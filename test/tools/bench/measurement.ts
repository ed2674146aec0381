import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as after } from 'node:timers/promises';
import { load_core, memoryBytesOf, moveTo, startStopwatch } from '../machine.ts';
import { bare, root, startServer } from '../processes.ts';
import { say } from '../tool.ts';
import type { Contestant, Gateway, Place } from './contestants.ts';
import { chatBody } from './conversation.ts';
import { measureRequests, requestOf } from './request-load.ts';
import { measureStreams, streamLength_ms } from './stream-load.ts';

/** How often each stream of the upstream sends an event. */
export const events_per_second = 20;
const margin_ms = 300;
/** V8 goes on compiling for some ten thousand requests. */
const usual_rehearsal_s = { requests: 20, streams: 2 };

/** Puts this process on the load's core, and the upstream beside it, whose streams send an event in each period. What it makes is removed when this process ends. */
export async function benchPlace(period_ms = 1000 / events_per_second): Promise<Place> {
  moveTo(load_core, process.pid);
  const directory = mkdtempSync(join(tmpdir(), 'sluice-bench-'));
  process.once('exit', () => rmSync(directory, { recursive: true, force: true }));
  const upstream = join(root, 'test/tools/bench/upstream.ts');
  return {
    directory,
    upstream: await startServer(upstream, [`${period_ms}`], { core: load_core, env: bare() }),
  };
}

/** How long and how often to measure, at how many connections and streams. */
export type MeasureOptions = Readonly<Record<'seconds' | 'rounds' | 'connections' | 'streams', number>>;

/** A measurement: requests or events in so many seconds, CPU seconds of the gateway and of its load, and for requests latencies. */
export interface Result {
  readonly count: number;
  readonly seconds: number;
  readonly cpu_s: number;
  readonly load_cpu_s: number;
  /** Share of the upstream's pace that arrived; of streams alone, as what the gateway holds more for each than when it had none. */
  readonly pace?: number;
  readonly stream_bytes?: number;
  readonly p50_ms?: number;
  readonly p99_ms?: number;
}

/** What was measured of a contestant. */
export interface Entry {
  readonly contestant: Contestant;
  readonly requests: Result[];
  readonly streams: Result[];
  gateway?: Gateway;
  /** Memory before the first streams. */
  idle_bytes?: number;
  /** Why it does not take part, or what was wrong with its replies. */
  fault?: string;
}

const originOf = ({ gateway }: Entry): string => `http://127.0.0.1:${gateway!.port}`;

function requestsAt(entry: Entry, connections: number, measure_ms: number, upstream_pid: number) {
  const { headers = {}, pid } = entry.gateway!;
  const start = () => startStopwatch(pid, upstream_pid);
  return measureRequests({ origin: originOf(entry), headers, connections, measure_ms, start });
}

async function streamsAt(entry: Entry, streams: number, measure_ms: number, upstream_pid: number) {
  const { headers = {}, pid } = entry.gateway!;
  const memory = () => (pid === undefined ? Number.NaN : memoryBytesOf(pid));
  entry.idle_bytes ??= memory();
  // One is opened each millisecond.
  const pace = { streams, open_ms: streams, measure_ms, margin_ms };
  const max_tokens = Math.ceil((streamLength_ms(pace) / 1000) * events_per_second);
  const { stream_options, frame_events } = entry.contestant.streamed!;
  const request = requestOf(headers, chatBody({ max_tokens, stream_options }));
  const { events, fault, memory_bytes, ...window } = await measureStreams({
    ...pace,
    origin: originOf(entry),
    patience_ms: 10_000,
    request,
    isWhole: events => events === max_tokens + frame_events + 1,
    start() {
      const stop = startStopwatch(pid, upstream_pid);
      return () => ({ ...stop(), memory_bytes: memory() });
    },
  });
  if (fault) throw new Error(fault);
  return {
    ...window,
    count: events,
    pace: events / (streams * events_per_second * window.seconds),
    stream_bytes: (memory_bytes - entry.idle_bytes) / streams,
  };
}

const loads = { requests: requestsAt, streams: streamsAt };
export type Kind = keyof typeof loads;

/** Measures a gateway that runs. A fault is kept; with one nothing more is measured. */
async function measure(entry: Entry, kind: Kind, clients: number, seconds: number, upstream_pid: number) {
  if (!entry.gateway || entry.fault) return undefined;
  try {
    return await loads[kind](entry, clients, seconds * 1000, upstream_pid);
  } catch (thrown) {
    entry.fault = (thrown as Error).message;
    return undefined;
  }
}

/** Starts a contestant, and waits until its gateway delivers the upstream's answer: the first measurement is a short one. */
export async function started(contestant: Contestant, place: Place): Promise<Entry> {
  const entry: Entry = { contestant, requests: [], streams: [] };
  say(`starting ${contestant.name}`);
  try {
    entry.gateway = await contestant.start(place);
    for (let tries = 0; tries < 20; tries++) {
      delete entry.fault;
      if (await measure(entry, 'requests', 1, 0.1, place.upstream.pid)) break;
      await after(200);
    }
  } catch (thrown) {
    entry.fault = (thrown as Error).message;
  }
  if (entry.fault) say(`${contestant.name} does not take part: ${entry.fault}`);
  return entry;
}

/** Measures all contestants in turn, round by round. Round 0 is thrown away, and as long as V8 needs if no length is given; with 0 there is none. */
export async function measureAll(
  entries: readonly Entry[],
  { rounds, connections, streams, seconds }: MeasureOptions,
  upstream_pid: number,
  rehearsal_s?: number,
): Promise<void> {
  for (const kind of ['requests', 'streams'] as const)
    for (let round = rehearsal_s === 0 ? 1 : 0; round <= rounds; round++)
      for (const entry of entries) {
        const clients = kind === 'requests' ? connections : entry.contestant.streamed ? streams : 0;
        if (clients === 0) continue;
        const rehearsed_s = rehearsal_s ?? Math.max(seconds, usual_rehearsal_s[kind]);
        const measured_s = round === 0 ? rehearsed_s : seconds;
        const result = await measure(entry, kind, clients, measured_s, upstream_pid);
        if (result && round > 0) entry[kind].push(result);
        const unit = kind === 'requests' ? kind : 'events';
        const what = result ? `${Math.round(result.count / result.seconds)} ${unit}/s` : entry.fault;
        say(`${round === 0 ? 'rehearsal' : `round ${round}`} ${entry.contestant.name}: ${what}`);
      }
}
