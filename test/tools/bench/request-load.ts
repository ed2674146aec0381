import { setTimeout as after } from 'node:timers/promises';
import { Client, type Dispatcher } from 'undici';
import { quantile } from '../figures.ts';
import { answer, chatBody, requestHeaders } from './conversation.ts';

const warmup_ms = 100;

const isAnswered = (text: string): boolean => {
  const { choices, usage } = JSON.parse(text);
  return choices?.[0]?.message?.content === answer && usage?.completion_tokens > 0;
};

interface RequestLoad<Window> {
  readonly origin: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly connections: number;
  readonly measure_ms: number;
  /** Begins to measure; the returned function ends that. */
  readonly start: () => () => Window;
}

/** A chat request, or one with another body. */
export const requestOf = (headers: object, body = chatBody()): Dispatcher.DispatchOptions => ({
  path: '/v1/chat/completions',
  method: 'POST',
  headers: { ...requestHeaders, ...headers },
  body,
});

/** A closed loop: every connection sends its next request when it has the reply to the last one. Rejects at the first bad reply. */
export async function measureRequests<Window extends object>(load: RequestLoad<Window>) {
  const { origin, headers, connections, measure_ms } = load;
  const request = requestOf(headers);
  const latencies_ms: number[] = [];
  let [isMeasuring, isStopped] = [false, false];
  const repeat = async (client: Client) => {
    let length: number | undefined;
    while (!isStopped) {
      const began_ms = performance.now();
      const bytes = await replyTo(client, request);
      // The first reply is read; all others must be of its length.
      if (length === undefined && !isAnswered(bytes.toString()))
        throw new Error(`not the upstream's reply: ${bytes}`.slice(0, 300));
      length ??= bytes.length;
      if (bytes.length !== length) throw new Error(`${bytes.length} bytes after ${length}`);
      if (isMeasuring) latencies_ms.push(performance.now() - began_ms);
    }
  };
  const clients = Array.from({ length: connections }, () => new Client(origin));
  const loops = Promise.all(clients.map(repeat));
  // Ends with the first fault of any connection.
  const pause = (pause_ms: number) => Promise.race([after(pause_ms), loops]);
  try {
    await pause(warmup_ms);
    const stop = load.start();
    isMeasuring = true;
    await pause(measure_ms);
    [isMeasuring, isStopped] = [false, true];
    const window = stop();
    await loops;
    const [p50_ms, p99_ms] = [quantile(latencies_ms, 0.5), quantile(latencies_ms, 0.99)];
    return { ...window, count: latencies_ms.length, p50_ms, p99_ms };
  } finally {
    isStopped = true;
    for (const client of clients) void client.destroy();
  }
}

/** The bytes of a reply. Rejects when its status is not 200. */
export function replyTo(client: Dispatcher, request: Dispatcher.DispatchOptions): Promise<Buffer> {
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
