/** The load generator, a process of its own: one job at a time, told and answered as messages. */
import { setTimeout as after } from 'node:timers/promises';
import { Client, type Dispatcher } from 'undici';
import { answer, batch, chatBody, embeddingsOf, requestHeaders } from './conversation.ts';
import { cpuSecondsOf } from './process-cpu.ts';
import { quantile } from './statistics.ts';
import { CountedStream, type Tally } from './stream-reader.ts';

/** How often each stream of the upstream sends an event. */
const events_per_second = 20;
const warmup_ms = 1000;
/** All streams are opened within this time, and go on for so long after the measurement. */
const margin_ms = 1000;
const patience_ms = 10_000;

export type TaskName = 'chat' | 'embeddings' | 'embeddings-batch';

export interface Job {
  readonly kind: 'requests' | 'streams';
  readonly task: TaskName;
  readonly port: number;
  /** Headers that a gateway needs. */
  readonly headers: Readonly<Record<string, string>>;
  readonly measure_ms: number;
  /** Connections of the closed loop, or streams. */
  readonly clients: number;
  readonly stream_options?: object | undefined;
  /** Events beside those with text and `[DONE]`: role, finish, and at a proxy the upstream's own usage event. */
  readonly frame_events: number;
  /** Whose CPU time is read at the beginning and the end of the measurement. */
  readonly pid: number | undefined;
  readonly upstream_pid: number;
}

/** A measurement: requests or events in so many seconds, CPU seconds, and for requests their latencies. */
export interface Result {
  readonly count: number;
  readonly seconds: number;
  readonly cpu_s: number;
  /** CPU seconds of the load generator and the upstream, which share a core. */
  readonly load_cpu_s: number;
  /** Share of the upstream's pace that arrived; 1 for requests. */
  readonly pace: number;
  readonly p50_ms: number;
  readonly p99_ms: number;
}

const isChat = (text: string): boolean => {
  const { choices, usage } = JSON.parse(text);
  return choices?.[0]?.message?.content === answer && usage?.completion_tokens > 0;
};
const embeddings = (texts: number) => {
  const { body, reply } = embeddingsOf(texts);
  return { path: '/v1/embeddings', body, isAnswered: (text: string) => text === reply };
};
const tasks = {
  chat: { path: '/v1/chat/completions', body: chatBody(), isAnswered: isChat },
  embeddings: embeddings(1),
  'embeddings-batch': embeddings(batch),
} as const;

function startStopwatch({ pid, upstream_pid }: Job) {
  const read = () => ({
    at_ms: performance.now(),
    cpu_s: pid === undefined ? Number.NaN : cpuSecondsOf(pid),
    load_s: cpuSecondsOf(upstream_pid) + cpuSecondsOf(process.pid),
  });
  const from = read();
  return () => {
    const to = read();
    return {
      seconds: (to.at_ms - from.at_ms) / 1000,
      cpu_s: to.cpu_s - from.cpu_s,
      load_cpu_s: to.load_s - from.load_s,
    };
  };
}

const requestOf = (job: Job, body: string): Dispatcher.DispatchOptions => ({
  path: tasks[job.task].path,
  method: 'POST',
  headers: { ...requestHeaders, ...job.headers },
  body,
});
const clientsOf = ({ port, clients }: Job): Client[] =>
  Array.from({ length: clients }, () => new Client(`http://127.0.0.1:${port}`));

/** A closed loop: every connection sends its next request when it has the reply to the last one. Throws at the first bad reply. */
async function measureRequests(job: Job): Promise<Result> {
  const { body, isAnswered } = tasks[job.task];
  const request = requestOf(job, body);
  const latencies_ms: number[] = [];
  const state = { measuring: false, stopped: false, fault: undefined as Error | undefined };
  const loop = async (client: Client) => {
    let length = -1;
    while (!state.stopped && !state.fault) {
      const began_ms = performance.now();
      const bytes = await replyTo(client, request);
      // The first reply is read; all others must be of its length.
      if (length === -1 && !isAnswered(bytes.toString()))
        throw new Error(`not the upstream's reply: ${bytes}`.slice(0, 300));
      if (length !== -1 && bytes.length !== length) throw new Error(`${bytes.length} bytes after ${length}`);
      length = bytes.length;
      if (state.measuring) latencies_ms.push(performance.now() - began_ms);
    }
  };
  const clients = clientsOf(job);
  const loops = clients.map(client => loop(client).catch(error => void (state.fault ??= error)));
  try {
    await after(warmup_ms);
    const stop = startStopwatch(job);
    state.measuring = true;
    await after(job.measure_ms);
    state.measuring = false;
    const window = stop();
    state.stopped = true;
    await Promise.all(loops);
    if (state.fault) throw state.fault;
    const sorted = Float64Array.from(latencies_ms).sort();
    return {
      count: sorted.length,
      ...window,
      pace: 1,
      p50_ms: quantile(sorted, 0.5),
      p99_ms: quantile(sorted, 0.99),
    };
  } finally {
    for (const client of clients) void client.destroy();
  }
}

function replyTo(client: Client, request: Dispatcher.DispatchOptions): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const parts: Buffer[] = [];
    client.dispatch(request, {
      onRequestStart: () => {},
      onResponseStart: (_, status) => {
        if (status !== 200) reject(new Error(`a reply with status ${status}`));
      },
      onResponseData: (_, bytes) => void parts.push(bytes),
      onResponseEnd: () => resolve(Buffer.concat(parts)),
      onResponseError: (_, error) => reject(error),
    });
  });
}

/** Many streams at the upstream's pace, counted while all of them run; afterwards every one must have ended well. */
async function measureStreams(job: Job): Promise<Result> {
  const length_ms = 2 * margin_ms + warmup_ms + job.measure_ms;
  const max_tokens = Math.ceil((length_ms / 1000) * events_per_second);
  const request = requestOf(job, chatBody({ max_tokens, stream_options: job.stream_options }));
  const isWhole = (events: number) => events === max_tokens + job.frame_events + 1;
  const tally: Tally = { events: 0, fault: undefined };
  const streams: CountedStream[] = [];
  const clients = clientsOf(job);
  const isOver = () => streams.every(({ ended }) => ended);
  try {
    for (const client of clients) {
      streams.push(new CountedStream(client, request, tally, isWhole));
      if (streams.length % 10 === 0) await after((margin_ms * 10) / clients.length);
    }
    await after(warmup_ms);
    const stop = startStopwatch(job);
    const before = tally.events;
    await after(job.measure_ms);
    const window = stop();
    const count = tally.events - before;
    if (streams.some(({ ended }) => ended)) throw new Error(tally.fault ?? 'a stream ended too early');
    for (const until_ms = performance.now() + patience_ms; !isOver(); await after(50))
      if (performance.now() > until_ms) throw new Error('streams are missing their end');
    if (tally.fault) throw new Error(tally.fault);
    const pace = count / (clients.length * events_per_second * window.seconds);
    return { count, ...window, pace, p50_ms: Number.NaN, p99_ms: Number.NaN };
  } finally {
    for (const client of clients) void client.destroy();
  }
}

if (process.send) {
  process.on('message', async (job: Job) => {
    const measured = job.kind === 'requests' ? measureRequests(job) : measureStreams(job);
    process.send?.(await measured.catch((error: Error) => ({ fault: error.message })));
  });
  process.on('disconnect', () => process.exit());
  process.send({ ready: true });
}
