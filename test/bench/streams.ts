import { setTimeout as after } from 'node:timers/promises';
import { bodyText, requestBytes } from './conversation.ts';
import { CountingStream, type Tally } from './counting-stream.ts';
import { events_per_second, type StreamJob, type StreamResult } from './jobs.ts';
import { startStopwatch } from './stopwatch.ts';
import { tasks } from './tasks.ts';

/** How much later than planned the last stream may end. */
const patience_ms = 10_000;

/**
 * Many streams at the upstream's pace. Counts only while all of them run, so opening and ending are not in the figure; afterwards
 * every stream must have ended well. Throws otherwise.
 */
export async function measureStreams(job: StreamJob): Promise<StreamResult> {
  const { port } = job;
  const isWhole = (events: number) => events === job.events_per_stream;
  const request = requestBytes(port, job.headers, tasks.chat.path, bodyText(job.wish));
  const tally: Tally = { events: 0, fault: undefined };
  const streams: CountingStream[] = [];
  try {
    for (let index = 0; index < job.streams; index++) {
      streams.push(new CountingStream({ port, request, isWhole }, tally));
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

async function untilAllEnded(streams: readonly CountingStream[], tally: Tally): Promise<void> {
  const deadline_ms = performance.now() + patience_ms;
  while (streams.some(({ ended }) => !ended)) {
    if (performance.now() > deadline_ms) throw new Error('streams are missing their end');
    await after(50);
  }
  if (tally.fault) throw tally.fault;
}
