import { Connection } from './connection.ts';

const line_feed = 10;
const end = '\n\ndata: [DONE]\n\n';

/** What many streams have in common. */
export interface Tally {
  events: number;
  fault: Error | undefined;
  /** Times between two events are kept here, while it is there. */
  gaps_ms?: number[] | undefined;
}

/** One stream of many. */
export interface StreamOrder {
  readonly port: number;
  readonly request: Buffer;
  /** Whether a stream of so many events is whole. */
  isWhole(events: number): boolean;
  /** It has ended; well, or with a fault. */
  onEnd?(fault?: string): void;
}

/** One stream, as cheap as can be: counts its events, and looks at its status, their number and the last one. */
export class CountingStream {
  ended = false;
  readonly #connection: Connection;
  readonly #tally: Tally;
  readonly #order: StreamOrder;
  #events = 0;
  #last_ms = 0;
  #ends_with_line = false;
  #tail = '';

  constructor(order: StreamOrder, tally: Tally) {
    this.#order = order;
    this.#tally = tally;
    this.#connection = new Connection(order.port, {
      onHead: status => status !== 200 && this.#fail(`a stream with status ${status}`),
      onBody: bytes => this.#body(bytes),
      onEnd: () => this.#end(),
      onFault: error => this.#fail(error.message),
    });
    this.#connection.send(order.request);
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
    const { gaps_ms } = this.#tally;
    if (gaps_ms) {
      const now_ms = performance.now();
      if (this.#last_ms > 0) gaps_ms.push(now_ms - this.#last_ms);
      for (let more = 1; more < events; more++) gaps_ms.push(0);
      this.#last_ms = now_ms;
    }
    this.#events += events;
    this.#tally.events += events;
  }

  #end(): void {
    this.ended = true;
    if (!this.#tail.endsWith(end)) this.#fail(`a stream that ends with ${JSON.stringify(this.#tail)}`);
    else if (!this.#order.isWhole(this.#events)) this.#fail(`a stream of ${this.#events} events`);
    else this.#order.onEnd?.();
    this.close();
  }

  #fail(message: string): void {
    this.ended = true;
    this.#tally.fault ??= new Error(message);
    this.#order.onEnd?.(message);
  }
}
