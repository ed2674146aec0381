import type { Completion } from '../canonical.ts';
import type { ReplySource } from '../exchange/reply-source.ts';
import type { Exchange } from '../exchange.ts';
import type { ReplySink } from '../outbound/reply-sink.ts';
import type { StreamMeter } from '../settlement/stream-meter.ts';
import type { ChunkSource } from '../stream.ts';
import { foreignReply, foreignStream } from './handler-format.ts';
import type { Interception } from './intercept-response.ts';

/** Reply source for the handler behind a chain. The handler sees its client leave, as it would without the chain. */
export class HandlerSource implements ReplySource {
  readonly outlivesClient = false;
  readonly #exchange: Exchange;
  readonly #interception: Interception;
  readonly #onReadOn: (pending: Promise<unknown>) => void;

  /** `onReadOn` receives a reply that is read on after a 524. */
  constructor(exchange: Exchange, interception: Interception, onReadOn: (pending: Promise<unknown>) => void) {
    this.#exchange = exchange;
    this.#interception = interception;
    this.#onReadOn = onReadOn;
  }

  get sink(): ReplySink {
    return this.#interception.sink;
  }

  get ended(): boolean {
    return this.#interception.ended;
  }

  reply(): Promise<Completion> {
    return foreignReply(this.#exchange, this.#interception);
  }

  stream(meter: StreamMeter): ChunkSource {
    return foreignStream(this.#exchange, this.#interception, meter);
  }

  readOn(pending: Promise<unknown>): void {
    this.#interception.readOn();
    this.#onReadOn(pending);
  }

  cancel(): void {
    this.#interception.cancel();
  }
}
