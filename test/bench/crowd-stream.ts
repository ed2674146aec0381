import { Connection } from './connection.ts';
import { model, requestHeaders } from './conversation.ts';

const line_feed = 10;
const end = '\n\ndata: [DONE]\n\n';

/** One request for a paced stream with running usage, as bytes. */
export function crowdRequest(port: number, tokens: number, tokens_per_second: number): Buffer {
  const content = `Tell me about rivers. [[sim:reasoning=none tokens=${tokens} tps=${tokens_per_second}]]`;
  const body = JSON.stringify({
    model,
    messages: [{ role: 'user', content }],
    stream: true,
    // A gateway asks for both; asked directly, vLLM gives running usage only together with the final one.
    stream_options: { include_usage: true, continuous_usage_stats: true },
  });
  const headers = {
    host: `127.0.0.1:${port}`,
    ...requestHeaders({}),
    'content-length': Buffer.byteLength(body),
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.from(`POST /v1/chat/completions HTTP/1.1\r\n${lines.join('')}\r\n${body}`);
}

/** What all streams of a crowd have in common. */
export interface Tally {
  /** Times between events are kept from when this is set. */
  measuring: boolean;
  events: number;
  readonly gaps_ms: number[];
  fault: string | undefined;
}

/** One stream, as cheap as can be: counts its events, and looks at its status and at its end. */
export class CrowdStream {
  ended = false;
  readonly #connection: Connection;
  readonly #tally: Tally;
  readonly #least_events: number;
  #events = 0;
  #last_ms = 0;
  #ends_with_line = false;
  #tail = '';

  constructor(port: number, request: Buffer, tokens: number, tally: Tally) {
    this.#tally = tally;
    // The tokens, `[DONE]`, and at least the role before them.
    this.#least_events = tokens + 2;
    this.#connection = new Connection(port, {
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
    this.#ends_with_line = bytes.at(-1) === line_feed && bytes.at(-2) !== line_feed;
    this.#tail =
      (bytes.length < end.length ? this.#tail : '') +
      bytes.toString('latin1', Math.max(0, bytes.length - end.length));
    if (events > 0) this.#count(events);
  }

  #count(events: number): void {
    const now_ms = performance.now();
    const { gaps_ms, measuring } = this.#tally;
    if (measuring && this.#events > 0) {
      gaps_ms.push(now_ms - this.#last_ms);
      for (let more = 1; more < events; more++) gaps_ms.push(0);
    }
    this.#last_ms = now_ms;
    this.#events += events;
    this.#tally.events += events;
  }

  #end(): void {
    this.ended = true;
    if (!this.#tail.endsWith(end)) this.#fail(`a stream that ends with ${JSON.stringify(this.#tail)}`);
    else if (this.#events < this.#least_events)
      this.#fail(`a stream of ${this.#events} events instead of at least ${this.#least_events}`);
    this.close();
  }

  #fail(message: string): void {
    this.ended = true;
    this.#tally.fault ??= message;
  }
}
