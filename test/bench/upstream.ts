/**
 * The upstream of every contestant, a process of its own. It shares a core with the load generator, so it is plain sockets and
 * bytes made beforehand: node:http would be the bottleneck in front of the fastest contestants.
 */
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { completion, embeddings, embeddingsBatch, Script } from './replies.ts';

/** Every stream sends one event in this time. */
const period_ms = 50;
/** Streams take turns within the period, as on a real server, where they do not all move in the same instant. */
const slots = 10;

interface Running {
  readonly socket: Socket;
  readonly script: Script;
  readonly max_tokens: number;
  tokens: number;
}

/** Paces all streams with one timer, which catches up if it was late. */
class Pacemaker {
  readonly #slots: Set<Running>[] = Array.from({ length: slots }, () => new Set());
  #next = 0;
  #turn = 0;
  readonly #start_ms = performance.now();

  begin(stream: Running): void {
    const slot = this.#slots[this.#next++ % slots]!;
    slot.add(stream);
    stream.socket.once('close', () => slot.delete(stream));
  }

  tick(): void {
    const due = Math.floor((performance.now() - this.#start_ms) / (period_ms / slots));
    for (; this.#turn < due; this.#turn++) {
      const slot = this.#slots[this.#turn % slots]!;
      for (const stream of slot) if (!step(stream)) slot.delete(stream);
    }
  }
}

/** Sends the next event; false after the last. */
function step(stream: Running): boolean {
  const { socket, script, max_tokens } = stream;
  const more = stream.tokens <= max_tokens;
  socket.write(more ? script.at(stream.tokens++) : script.end(max_tokens));
  return more;
}

const scripts = new Map<string, Script>();

function scriptFor(body: string): Script {
  const include_usage = body.includes('"include_usage":true');
  const continuous_usage_stats = include_usage && body.includes('"continuous_usage_stats":true');
  const name = `${include_usage} ${continuous_usage_stats}`;
  let script = scripts.get(name);
  if (!script) scripts.set(name, (script = new Script({ include_usage, continuous_usage_stats })));
  return script;
}

function answerRequest(socket: Socket, head: string, body: string): void {
  if (head.startsWith('POST /v1/embeddings ')) {
    socket.write(body.includes('"input":[') ? embeddingsBatch : embeddings);
    return;
  }
  if (!body.includes('"stream":true')) {
    socket.write(completion);
    return;
  }
  const max_tokens = Number(/"max_tokens":(\d+)/.exec(body)?.[1] ?? 100);
  pacemaker.begin({ socket, script: scriptFor(body), max_tokens, tokens: 0 });
}

/** Reads requests that say their length; no contestant sends them otherwise. */
function visit(socket: Socket): void {
  let held: Buffer | undefined;
  socket.on('error', () => {});
  socket.on('data', bytes => {
    let rest = held ? Buffer.concat([held, bytes]) : bytes;
    held = undefined;
    while (rest.length > 0) {
      const body_at = rest.indexOf('\r\n\r\n') + 4;
      const head = rest.toString('latin1', 0, body_at);
      const length = body_at < 4 ? Number.NaN : lengthOf(head);
      if (length === -1) return void socket.end('HTTP/1.1 411 Length Required\r\ncontent-length: 0\r\n\r\n');
      const end = body_at + length;
      if (!(end <= rest.length)) {
        held = rest;
        return;
      }
      answerRequest(socket, head, rest.toString('latin1', body_at, end));
      rest = rest.subarray(end);
    }
  });
}

const lengthOf = (head: string): number => Number(/\r\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? -1);

const pacemaker = new Pacemaker();
setInterval(() => pacemaker.tick(), period_ms / slots);
const server = createServer({ noDelay: true }, visit);
server.listen({ port: 0, host: '127.0.0.1', backlog: 4096 }, () => {
  process.send?.({ port: (server.address() as AddressInfo).port });
});
process.on('disconnect', () => process.exit());
