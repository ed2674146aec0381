import { setTimeout as after } from 'node:timers/promises';
import { Client, type Dispatcher } from 'undici';

const stream_end = '\n\ndata: [DONE]\n\n';
const line_feed = 10;

/** What many streams add up to. */
interface Tally {
  events: number;
  ended: number;
  /** The first thing that was wrong with any of them. */
  fault: string | undefined;
}

interface StreamLoad<Window> {
  readonly origin: string;
  readonly streams: number;
  readonly request: Dispatcher.DispatchOptions;
  readonly isWhole: (events: number) => boolean;
  /** All streams are opened within this time. */
  readonly open_ms: number;
  /** Between the last stream's beginning and the measurement, and between that and the end of the streams. */
  readonly margin_ms: number;
  readonly measure_ms: number;
  /** How much later than planned the last stream may end. */
  readonly patience_ms: number;
  /** Begins to measure; the returned function ends that. */
  readonly start: () => () => Window;
}

/** How long streams must last for a measurement: all of them run during it. */
export const streamLength_ms = ({
  open_ms,
  measure_ms,
  margin_ms,
}: Pick<StreamLoad<unknown>, 'open_ms' | 'measure_ms' | 'margin_ms'>) => open_ms + measure_ms + 2 * margin_ms;

/** Opens many streams, measures while all of them run, and waits for their ends. */
export async function measureStreams<Window extends object>(load: StreamLoad<Window>) {
  const { streams, open_ms, measure_ms, margin_ms } = load;
  const tally: Tally = { events: 0, ended: 0, fault: undefined };
  const clients: Client[] = [];
  const begun_ms = performance.now();
  try {
    while (clients.length < streams) {
      const due = Math.min(streams, Math.ceil(((performance.now() - begun_ms) / open_ms) * streams));
      while (clients.length < due) {
        const client = new Client(load.origin, { bodyTimeout: 0 });
        readStream(client, load, tally);
        clients.push(client);
      }
      await after(5);
    }
    await after(margin_ms);
    const before = tally.events;
    const stop = load.start();
    await after(measure_ms);
    const events = tally.events - before;
    const window = stop();
    if (tally.ended > 0) tally.fault ??= 'a stream ended too early';
    const deadline_ms = begun_ms + streamLength_ms(load) + load.patience_ms;
    while (tally.ended < streams && performance.now() < deadline_ms) await after(50);
    if (tally.ended < streams) tally.fault ??= 'streams are missing their end';
    return { ...window, events, fault: tally.fault };
  } finally {
    for (const client of clients) void client.destroy();
  }
}

/** Counts the events of one stream as cheaply as it can, and checks status, number of events and the last one. */
function readStream(
  client: Client,
  { request, isWhole }: Pick<StreamLoad<unknown>, 'request' | 'isWhole'>,
  tally: Tally,
): void {
  let [events, tail] = [0, ''];
  let [endsWithLine, hasEnded] = [false, false];
  const end = (fault?: string) => {
    if (hasEnded) return;
    hasEnded = true;
    tally.ended++;
    tally.fault ??= fault;
  };
  // An event ends with an empty line, whose two line feeds need not come together.
  const count = (bytes: Buffer) => {
    let more = endsWithLine && bytes[0] === line_feed ? 1 : 0;
    for (let at = bytes.indexOf('\n\n'); at !== -1; at = bytes.indexOf('\n\n', at + 2)) more++;
    endsWithLine = bytes.at(-1) === line_feed && bytes.at(-2) !== line_feed;
    tail += bytes.toString('latin1', Math.max(0, bytes.length - stream_end.length));
    tail = tail.slice(-stream_end.length);
    events += more;
    tally.events += more;
  };
  client.dispatch(request, {
    onRequestStart: () => {},
    onResponseStart: (_, status) => {
      if (status !== 200) end(`a stream with status ${status}`);
    },
    onResponseData: (_, bytes) => count(bytes),
    onResponseEnd: () => {
      if (!tail.endsWith(stream_end)) end(`a stream that ends with ${JSON.stringify(tail)}`);
      else end(isWhole(events) ? undefined : `a stream of ${events} events`);
    },
    onResponseError: (_, error) => end(error.message),
  });
}
