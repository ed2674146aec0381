import { setTimeout as after } from 'node:timers/promises';
import { memoryBytesOf, startStopwatch } from '../machine.ts';
import { say } from '../tool.ts';
import type { Contestant, Gateway, Place } from './contestants.ts';
import { chatBody } from './conversation.ts';
import { measureRequests, requestOf } from './request-load.ts';
import { measureStreams, streamLength_ms } from './stream-load.ts';

/** How often each stream of the upstream sends an event. */
export const events_per_second = 20;
/** Streams are opened one each millisecond. */
const openingOf = (streams: number) => streams;
const margin_ms = 300;
/** V8 goes on compiling for some seconds of load. */
const usual_rehearsal_s = { requests: 6, streams: 2 };

export type Kind = 'requests' | 'streams';

/** How long and how often to measure, at how many connections and streams. */
export type MeasureOptions = Readonly<
  Record<'seconds' | 'rounds' | 'connections' | 'streams', number> & {
    /** Seconds of the round that is thrown away, if not as long as V8 needs; 0 for none. */
    rehearsal_s?: number;
  }
>;

/** A measurement: requests or events in so many seconds, CPU seconds of the gateway and of its load, and for requests latencies. */
export interface Result {
  readonly count: number;
  readonly seconds: number;
  readonly cpu_s: number;
  readonly load_cpu_s: number;
  /** Share of the upstream's pace that arrived; 1 for requests. */
  readonly pace: number;
  /** What the gateway holds more for each stream than when it had none; not a number for requests. */
  readonly stream_bytes: number;
  readonly p50_ms: number;
  readonly p99_ms: number;
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

/** Measures a gateway that runs. A fault is kept; with one nothing more is measured. */
async function measure(
  entry: Entry,
  kind: 'requests' | 'streams',
  clients: number,
  measure_ms: number,
  upstream_pid: number,
): Promise<Result | undefined> {
  const {
    gateway,
    contestant: { task = 'chat', streamed },
  } = entry;
  if (!gateway || entry.fault) return undefined;
  const { port, pid, headers = {} } = gateway;
  const load = {
    origin: `http://127.0.0.1:${port}`,
    measure_ms,
    start: () => startStopwatch(pid, upstream_pid),
  };
  try {
    if (kind === 'requests')
      return {
        ...(await measureRequests({ ...load, task, headers, connections: clients })),
        stream_bytes: Number.NaN,
      };
    const memory = () => (pid === undefined ? Number.NaN : memoryBytesOf(pid));
    entry.idle_bytes ??= memory();
    const open_ms = openingOf(clients);
    const max_tokens = Math.ceil(
      (streamLength_ms({ open_ms, measure_ms, margin_ms }) / 1000) * events_per_second,
    );
    const { stream_options, frame_events } = streamed!;
    const request = requestOf(task, headers, chatBody({ max_tokens, stream_options }));
    const isWhole = (events: number) => events === max_tokens + frame_events + 1;
    const { events, fault, memory_bytes, ...window } = await measureStreams({
      ...load,
      start() {
        const stop = load.start();
        return () => ({ ...stop(), memory_bytes: memory() });
      },
      streams: clients,
      open_ms,
      margin_ms,
      patience_ms: 10_000,
      requestOf: () => request,
      isWhole,
    });
    if (fault) throw new Error(fault);
    const pace = events / (clients * events_per_second * window.seconds);
    const stream_bytes = (memory_bytes - entry.idle_bytes) / clients;
    return { ...window, count: events, pace, stream_bytes, p50_ms: Number.NaN, p99_ms: Number.NaN };
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
      if (await measure(entry, 'requests', 1, 100, place.upstream.pid)) break;
      await after(200);
    }
  } catch (thrown) {
    entry.fault = (thrown as Error).message;
  }
  if (entry.fault) say(`${contestant.name} does not take part: ${entry.fault}`);
  return entry;
}

/** Measures all contestants in turn, round by round. Round 0 is longer and thrown away. */
export async function measureAll(
  entries: readonly Entry[],
  options: MeasureOptions,
  upstream_pid: number,
): Promise<void> {
  const { rounds, connections, streams, seconds, rehearsal_s } = options;
  for (const kind of ['requests', 'streams'] as const)
    for (let round = rehearsal_s === 0 ? 1 : 0; round <= rounds; round++)
      for (const entry of entries) {
        const clients = kind === 'requests' ? connections : entry.contestant.streamed ? streams : 0;
        if (clients === 0) continue;
        const measured_s =
          round === 0 ? (rehearsal_s ?? Math.max(seconds, usual_rehearsal_s[kind])) : seconds;
        const result = await measure(entry, kind, clients, measured_s * 1000, upstream_pid);
        if (result && round > 0) entry[kind].push(result);
        const unit = kind === 'requests' ? kind : 'events';
        const what = result ? `${Math.round(result.count / result.seconds)} ${unit}/s` : entry.fault;
        say(`${round === 0 ? 'rehearsal' : `round ${round}`} ${entry.contestant.name}: ${what}`);
      }
}
