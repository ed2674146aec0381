/**
 * The upstream of every contestant, a process of its own. It shares a core with the load generator, so it is plain sockets and bytes
 * made beforehand: node:http would be the bottleneck in front of the fastest contestants.
 */
import { createServer, type Socket } from 'node:net';
import { listen } from '../processes.ts';
import { chunkText, completion, streamEnd } from './conversation.ts';

/** Every stream sends one event in this time: the first argument, or 50. */
const period_ms = Number(process.argv[2] ?? 50);
/** Streams take turns within the period, as on a real server, where they do not all move in the same instant. */
const slots = 10;

const head = (fields: string) => `HTTP/1.1 200 OK\r\nserver: uvicorn\r\ncontent-type: ${fields}\r\n\r\n`;
const part = (text: string): string => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;

const whole = Buffer.from(
  head(`application/json\r\ncontent-length: ${Buffer.byteLength(completion)}`) + completion,
);
const streamHead = head('text/event-stream; charset=utf-8\r\ntransfer-encoding: chunked');

interface Running {
  readonly socket: Socket;
  readonly max_tokens: number;
  readonly running: boolean;
  readonly include_usage: boolean;
  tokens: number;
}

const streams: Set<Running>[] = Array.from({ length: slots }, () => new Set());
const start_ms = performance.now();
let next = 0;
let turn = 0;

/** Paces all streams with one timer, which catches up if it was late. */
setInterval(() => {
  const due = Math.floor((performance.now() - start_ms) / (period_ms / slots));
  for (; turn < due; turn++) {
    const slot = streams[turn % slots]!;
    for (const stream of slot) if (!step(stream)) slot.delete(stream);
  }
}, period_ms / slots);

const written = new Map<string, Buffer>();

/** The same buffers for every stream that asks alike. */
function bytesOf(tokens: number, running: boolean): Buffer {
  const name = `${tokens} ${running}`;
  let bytes = written.get(name);
  if (!bytes) {
    bytes = Buffer.from((tokens === 0 ? streamHead : '') + part(chunkText(tokens, running)));
    written.set(name, bytes);
  }
  return bytes;
}

/** Sends the next event; false after the last. */
function step(stream: Running): boolean {
  const { socket, max_tokens, running, include_usage } = stream;
  const goesOn = stream.tokens <= max_tokens;
  if (goesOn) socket.write(bytesOf(stream.tokens++, running));
  else socket.write(`${part(streamEnd(max_tokens, running, include_usage))}0\r\n\r\n`);
  return goesOn;
}

function answerRequest(socket: Socket, body: string): void {
  if (!body.includes('"stream":true')) return void socket.write(whole);
  const max_tokens = Number(/"max_tokens":(\d+)/.exec(body)?.[1] ?? 100);
  const include_usage = body.includes('"include_usage":true');
  // vLLM gives running usage only together with the final one.
  const running = include_usage && body.includes('"continuous_usage_stats":true');
  const slot = streams[next++ % slots]!;
  const stream = { socket, max_tokens, running, include_usage, tokens: 0 };
  slot.add(stream);
  socket.once('close', () => slot.delete(stream));
}

/** Reads requests that say their length; no contestant sends them otherwise. Long ones are put together once. */
function serve(socket: Socket): void {
  let parts: Buffer[] = [];
  let [held, wanted] = [0, 0];
  socket.on('error', () => {});
  socket.on('data', bytes => {
    parts.push(bytes);
    held += bytes.length;
    if (held < wanted) return;
    let rest = parts.length === 1 ? bytes : Buffer.concat(parts);
    for (wanted = 0; ; ) {
      const body_at = rest.indexOf('\r\n\r\n') + 4;
      if (body_at < 4) break;
      const text = rest.toString('latin1', 0, body_at);
      const length = Number(/\r\ncontent-length: *(\d+)/i.exec(text)?.[1]);
      if (Number.isNaN(length))
        return void socket.end('HTTP/1.1 411 Length Required\r\ncontent-length: 0\r\n\r\n');
      wanted = body_at + length;
      if (rest.length < wanted) break;
      answerRequest(socket, rest.toString('latin1', body_at, wanted));
      rest = rest.subarray(wanted);
      wanted = 0;
    }
    parts = [rest];
    held = rest.length;
  });
}

listen(createServer({ noDelay: true }, serve));
