import type { Client, Dispatcher } from 'undici';

const stream_end = '\n\ndata: [DONE]\n\n';
const line_feed = 10;

/** What many streams add up to. */
export interface Tally {
  events: number;
  /** The first thing that was wrong with any of them. */
  fault: string | undefined;
  /** Milliseconds between two events of one stream; collected while it is there. */
  gaps_ms?: number[] | undefined;
}

/** One stream of many: counts events as cheaply as it can, and checks status, number of events and the last one. */
export class CountedStream {
  ended = false;
  readonly #tally: Tally;
  #events = 0;
  #last_ms = 0;
  #ends_with_line = false;
  #tail = '';

  constructor(
    client: Client,
    request: Dispatcher.DispatchOptions,
    tally: Tally,
    isWhole: (events: number) => boolean,
    onEnd: (fault?: string) => void = () => {},
  ) {
    this.#tally = tally;
    const end = (fault?: string) => {
      if (this.ended) return;
      this.ended = true;
      tally.fault ??= fault;
      onEnd(fault);
    };
    client.dispatch(request, {
      onRequestStart: () => {},
      onResponseStart: (_, status) => {
        if (status !== 200) end(`a stream with status ${status}`);
      },
      onResponseData: (_, bytes) => this.#count(bytes),
      onResponseEnd: () => {
        if (!this.#tail.endsWith(stream_end)) end(`a stream that ends with ${JSON.stringify(this.#tail)}`);
        else if (!isWhole(this.#events)) end(`a stream of ${this.#events} events`);
        else end();
      },
      onResponseError: (_, error) => end(error.message),
    });
  }

  /** An event ends with an empty line, whose two line feeds need not come together. */
  #count(bytes: Buffer): void {
    let events = this.#ends_with_line && bytes[0] === line_feed ? 1 : 0;
    for (let at = bytes.indexOf('\n\n'); at !== -1; at = bytes.indexOf('\n\n', at + 2)) events++;
    this.#ends_with_line = bytes.at(-1) === line_feed && bytes.at(-2) !== line_feed;
    const tail = bytes.toString('latin1', Math.max(0, bytes.length - stream_end.length));
    this.#tail = (this.#tail + tail).slice(-stream_end.length);
    if (events === 0) return;
    const { gaps_ms } = this.#tally;
    if (gaps_ms) {
      const now_ms = performance.now();
      if (this.#last_ms > 0) gaps_ms.push(now_ms - this.#last_ms);
      this.#last_ms = now_ms;
    }
    this.#events += events;
    this.#tally.events += events;
  }
}
