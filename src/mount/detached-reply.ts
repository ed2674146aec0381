import type { ServerResponse } from 'node:http';
import { Writable } from 'node:stream';
import type { DetachedReply } from '../gateway/dialects/define-dialect.ts';
import type { Exchange } from '../gateway/exchange/exchange.ts';
import type { ReplySource } from '../gateway/exchange/reply-source.ts';
import type { StreamLimits } from '../gateway/outbound/reply-limits.ts';
import type { ReplySink } from '../gateway/outbound/reply-sink.ts';
import { writeAnswer } from './dialect-answer.ts';

/** Answers the client at once, and has `detached` take the reply of `source`, which goes on without the client. */
export function detach<S extends ReplySource>(
  { exchange, response }: { readonly exchange: Exchange; readonly response: ServerResponse },
  source: S,
  detached: DetachedReply,
  limits: Pick<StreamLimits, 'slow_client_ms'>,
): ReplySource {
  exchange.isDetached = true;
  const failed = (err: unknown) => exchange.log.debug({ err }, 'a detached client could not be answered');
  const answering = async () => writeAnswer(exchange, response, detached.answer, limits);
  void answering().catch(failed);
  const sink = new DetachedSink(detached);
  const settle = source.settled?.bind(source);
  const settled = () => {
    settle?.();
    sink.close();
  };
  return Object.assign(source, { sink: sink as unknown as ReplySink, settled });
}

/** The sink of a reply whose client does not wait for it. */
class DetachedSink extends Writable {
  headersSent = false;
  statusMessage = '';
  readonly #detached: DetachedReply;
  #status = 200;
  #refused = '';
  #isEnded = false;

  constructor(detached: DetachedReply) {
    super({ decodeStrings: false });
    this.#detached = detached;
  }

  writeHead(status: number): this {
    this.headersSent = true;
    this.#status = status;
    return this;
  }

  override _write(text: string, _encoding: string, taken: () => void): void {
    if (this.#status === 200) this.#detached.write(text);
    else this.#refused += text;
    taken();
  }

  override _final(taken: () => void): void {
    this.close();
    taken();
  }

  /** Ends it, whether the reply has ended or was given up. Safe to call again. */
  close(): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#detached.end(this.#status === 200 ? undefined : { status: this.#status, body: this.#refused });
  }
}
