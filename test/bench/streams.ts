import { setTimeout as after } from 'node:timers/promises';
import { Connection } from './connection.ts';
import { bodyText, requestBytes } from './conversation.ts';
import { events_per_second, type StreamJob, type StreamResult } from './jobs.ts';
import { startStopwatch } from './stopwatch.ts';
import { tasks } from './tasks.ts';

/** How much later than planned the last stream may end. */
const patience_ms = 10_000;
const line_feed = 10;

/**
 * Many streams at the upstream's pace. Counts only while all of them run, so opening and ending are not in the figure; afterwards
 * every stream must have ended well. Throws otherwise.
 */
export async function measureStreams(job: StreamJob): Promise<StreamResult> {
  const request = requestBytes(job.port, job.headers, tasks.chat.path, bodyText(job.wish));
  const tally: Tally = { events: 0, fault: undefined };
  const streams: Stream[] = [];
  try {
    for (let index = 0; index < job.streams; index++) {
      streams.push(new Stream(job, request, tally));
      if (index % 10 === 9) await after((job.open_ms * 10) / job.streams);
    }
    await after(job.warmup_ms);
    const stop = startStopwatch(job);
    const events_before = tally.events;
    await after(job.measure_ms);
    const window = stop();
    const events = tally.events - events_before;
    if (streams.some(({ ended }) => ended)) throw tally.fault ?? new Error('a stream ended too early');
    await untilAllEnded(streams, tally);
    const expected_events = job.streams * events_per_second * window.seconds;
    return { kind: 'streams', ...window, events, expected_events };
  } finally {
    for (const stream of streams) stream.close();
  }
}

interface Tally {
  events: number;
  fault: Error | undefined;
}

async function untilAllEnded(streams: readonly Stream[], tally: Tally): Promise<void> {
  const deadline_ms = performance.now() + patience_ms;
  while (streams.some(({ ended }) => !ended)) {
    if (performance.now() > deadline_ms) throw new Error('streams are missing their end');
    await after(50);
  }
  if (tally.fault) throw tally.fault;
}

/** One stream: counts its events, and looks at its status, its number of events and its last one. */
class Stream {
  ended = false;
  readonly #job: StreamJob;
  readonly #tally: Tally;
  readonly #connection: Connection;
  #events = 0;
  #ends_with_line = false;
  #tail = '';

  constructor(job: StreamJob, request: Buffer, tally: Tally) {
    this.#job = job;
    this.#tally = tally;
    this.#connection = new Connection(job.port, {
      onHead: status => status !== 200 && this.#fail(`a stream with status ${status}`),
      onBody: bytes => this.#body(bytes),
      onEnd: () => this.#end(),
      onFault: error => this.#fail(error.message),
    });
    this.#connection.send(request);
  }

  close(): void {
    this.#connection.close();
  }

  /** An event ends with an empty line; both line feeds need not come together. */
  #body(bytes: Buffer): void {
    let events = this.#ends_with_line && bytes[0] === line_feed ? 1 : 0;
    for (let at = bytes.indexOf('\n\n'); at !== -1; at = bytes.indexOf('\n\n', at + 2)) events++;
    this.#events += events;
    this.#tally.events += events;
    this.#ends_with_line = bytes.at(-1) === line_feed && bytes.at(-2) !== line_feed;
    this.#tail = (this.#tail + bytes.toString('latin1', Math.max(0, bytes.length - 16))).slice(-16);
  }

  #end(): void {
    this.ended = true;
    const { events_per_stream } = this.#job;
    if (this.#tail !== '\n\ndata: [DONE]\n\n')
      this.#fail(`a stream that ends with ${JSON.stringify(this.#tail)}`);
    else if (this.#events !== events_per_stream)
      this.#fail(`a stream of ${this.#events} events instead of ${events_per_stream}`);
  }

  #fail(message: string): void {
    this.ended = true;
    this.#tally.fault ??= new Error(message);
  }
}
