import type { Chunk, Completion } from '../canonical.ts';
import { GatewayError, refusal } from '../errors.ts';
import type { Exchange } from '../exchange.ts';
import { ignoredByUpstream } from '../ignored-parameters.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { AttemptSpan } from './attempt-span.ts';
import type { BodyConsumer, ResponseHead, UpstreamCall } from './call.ts';
import type { ChunkFeed } from './chunk-feed.ts';
import { chunkOf, decodeStream, decodeText, decodeWhole, EventReader, isEventStream } from './decode.ts';
import { endReasonOf, type Failure, failureOf, failureOfStatus, secondsOf } from './failure.ts';
import type { ProviderKey } from './key-pool.ts';
import type { Provider } from './provider.ts';
import { beginningOf, bytesOf, isPlain } from './read-body.ts';
import { jsonOf, UpstreamError } from './read-error.ts';
import type { Upstream } from './upstream.ts';

/** How much of an error body is read: some servers repeat the whole prompt in it. */
const error_body_bytes = 1024 * 1024;
/** How long an error body may take: its status is known, and a client waits for it. */
const error_body_ms = 3000;
/** How long an upstream may take to close a stream after `[DONE]` before its connection is given up. */
const done_patience_ms = 1000;
/** How long usage and `[DONE]` may follow the last finish reason; the client's last chunk waits for them. */
const finish_patience_ms = 5000;
/** Above this many chunks that nobody has read the upstream is paused. */
const max_unread_chunks = 64;
/** The same for what they were decoded from: an event may be as large as the configuration allows. */
const max_unread_bytes = 256 * 1024;

/** Who waits for an attempt's stream to begin. */
interface Beginning {
  resolve(): void;
  reject(error: GatewayError): void;
}

/** One call to one provider. Ends by itself, by its reader leaving, by `cancel`, or when the exchange aborts. */
export class Attempt {
  readonly upstream: Upstream;
  /** What went wrong, once the attempt has failed; not there when it was ended from here, or nothing was sent. */
  failure: Failure | undefined;
  /** Something generated has arrived: from here on this attempt is the answer, whatever becomes of it (protocol i6). */
  generated = false;
  readonly #exchange: Exchange;
  readonly #provider: Provider;
  readonly #metrics: Metrics;
  #beginning: Beginning | undefined;
  /** Chunks without a word of the answer, kept until the first word as long as another upstream could be asked. */
  #held: Chunk[] = [];
  #max_held = 0;
  #call: UpstreamCall | undefined;
  #span: AttemptSpan | undefined;
  /** Lets a compressed stream go on that waits for its reader. */
  #wanted: (() => void) | undefined;
  /** Read from the upstream since the feed was last empty. */
  #unread_bytes = 0;
  #key: ProviderKey | undefined;
  #keyDeclined = false;
  #sent_ms = 0;
  #patience: NodeJS.Timeout | undefined;
  #begun = false;
  #answered = false;
  #ended = false;

  constructor(exchange: Exchange, upstream: Upstream, metrics: Metrics) {
    this.upstream = upstream;
    this.#exchange = exchange;
    this.#provider = upstream.provider;
    this.#metrics = metrics;
  }

  /** The whole reply, or a GatewayError. */
  async reply(): Promise<Completion> {
    try {
      const { call, head } = await this.#open();
      const reply = await this.#whole(call, head);
      this.#span?.answered(reply);
      this.#waited();
      this.#end(undefined);
      return reply;
    } catch (thrown) {
      throw this.#failed(thrown);
    }
  }

  /**
   * Sends the request and fills `feed`. Resolves when the first of the answer has been handed on; rejects with a GatewayError when the
   * attempt fails before, and then nothing was. Up to `max_held` chunks without a word of the answer wait for its first word.
   */
  fill(feed: ChunkFeed, max_held: number): Promise<void> {
    this.#max_held = max_held;
    return new Promise((resolve, reject) => {
      this.#beginning = { resolve, reject };
      void this.#fill(feed);
    });
  }

  /** All that was given has been read: more is welcome. */
  drained(): void {
    this.#unread_bytes = 0;
    this.#call?.resume();
    this.#wanted?.();
  }

  async #fill(feed: ChunkFeed): Promise<void> {
    try {
      const { call, head } = await this.#open();
      const { adapter, config } = this.#provider;
      if (!isEventStream(head.headers)) {
        this.#give(feed, [chunkOf(await this.#whole(call, head))]);
        this.#finish(feed);
      } else if (isPlain(head)) {
        call.readInto(this.#eventsInto(feed, new EventReader(adapter.openStream(), config)));
      } else await this.#decompressInto(feed, call, head);
    } catch (thrown) {
      this.#fault(feed, thrown);
    }
  }

  /** What still comes of an attempt that is over is nobody's: the feed may be another attempt's by then. */
  #give(feed: ChunkFeed, chunks: Chunk[]): void {
    if (this.#ended) return;
    if (this.#span?.observes) this.#span.saw(chunks);
    if (this.generated) feed.push(chunks);
    else if (chunks.length > 0) this.#giveFirst(feed, chunks);
  }

  #giveFirst(feed: ChunkFeed, chunks: Chunk[]): void {
    this.generated = chunks.some(isGenerated);
    this.#held.push(...chunks);
    if (this.generated || this.#held.length > this.#max_held) this.#release(feed);
  }

  /** Hands on what was held back: the client may see it, so that no other attempt can follow. */
  #release(feed: ChunkFeed): void {
    const held = this.#held;
    const beginning = this.#beginning;
    this.#held = [];
    this.#max_held = 0;
    this.#beginning = undefined;
    this.#waited();
    feed.push(held);
    beginning?.resolve();
  }

  #finish(feed: ChunkFeed): void {
    if (this.#ended) return this.#fault(feed, new Error('the attempt was over'));
    if (this.#beginning) this.#release(feed);
    this.#end(undefined);
    feed.end();
  }

  /** Tells the fault to whoever still can do something about it, or else to the reader. */
  #fault(feed: ChunkFeed, thrown: unknown): void {
    const error = this.#failed(thrown);
    if (this.#beginning) this.#beginning.reject(error);
    else {
      if (this.failure) this.#exchange.end_reason ??= endReasonOf(this.failure);
      feed.fail(error);
    }
  }

  /** From the socket to the first stage without a turn in between. */
  #eventsInto(feed: ChunkFeed, reader: EventReader): BodyConsumer {
    const give = (chunks: Chunk[]) => {
      this.#give(feed, chunks);
      if (reader.fault !== undefined) this.#fault(feed, reader.fault);
    };
    const finish = () => {
      if (!this.#ended) this.#finish(feed);
    };
    const late = () => {
      finish();
      this.#call?.cancel(new Error('the upstream did not end its stream'));
    };
    // Of several choices one may end long before the next begins.
    const isSingle = (this.#exchange.request.n ?? 1) === 1;
    return {
      bytes: part => {
        give(reader.read(part));
        if (reader.done && reader.fault === undefined) {
          finish();
          this.#call?.release(done_patience_ms);
        } else if (reader.complete && isSingle)
          this.#patience ??= setTimeout(late, finish_patience_ms).unref();
        this.#unread_bytes = feed.unread === 0 ? 0 : this.#unread_bytes + part.length;
        return feed.unread < max_unread_chunks && this.#unread_bytes < max_unread_bytes;
      },
      end: () => {
        if (this.#ended) return;
        give(reader.end());
        finish();
      },
      fail: error => {
        // The stream's own fault has been told; that its call was ended for it says nothing more.
        if (reader.fault !== undefined) return;
        if (!this.#ended && reader.survives(error)) finish();
        else this.#fault(feed, error);
      },
    };
  }

  /** A compressed stream, which was not asked for: slower, and as right. */
  async #decompressInto(feed: ChunkFeed, call: UpstreamCall, head: ResponseHead): Promise<void> {
    const { adapter, config } = this.#provider;
    const done = () => this.#call?.release(done_patience_ms);
    for await (const chunk of decodeStream(bytesOf(call, head), head.headers, adapter, config, done)) {
      this.#give(feed, [chunk]);
      if (feed.unread >= max_unread_chunks) await new Promise<void>(wanted => (this.#wanted = wanted));
    }
    this.#finish(feed);
  }

  async #whole(call: UpstreamCall, head: ResponseHead): Promise<Completion> {
    const { adapter, config } = this.#provider;
    if (!isPlain(head)) return decodeWhole(bytesOf(call, head), adapter, config);
    const { max_reply_bytes } = config;
    const tooLarge = () =>
      refusal('provider_invalid', { cause: new Error(`a reply over ${max_reply_bytes} bytes`) });
    return decodeText((await call.whole(max_reply_bytes, tooLarge)).toString('utf8'), adapter);
  }

  get ended(): boolean {
    return this.#ended;
  }

  /** It failed for its key alone, and the provider has another one. */
  get hasAnotherKey(): boolean {
    return this.#keyDeclined && this.#provider.keys.hasFresh;
  }

  /** Ends the call if it has not ended. */
  cancel(): void {
    if (this.#ended) return;
    this.#end('aborted');
    this.#call?.cancel(new Error('the reply is not wanted any longer'));
    this.#wanted?.();
  }

  async #open(): Promise<{ head: ResponseHead; call: UpstreamCall }> {
    const { request, aborted } = this.#exchange;
    // While a stage was at work the client has left, or the gateway was closed: nobody is asked in vain.
    if (aborted) throw refusal('server_error');
    const { path, headers, body, ignored } = this.#provider.encode(request, this.upstream.target);
    ignoredByUpstream(this.#exchange, ignored);
    const text = JSON.stringify(body);
    this.#sent_ms = this.#exchange.clock.elapsed_ms();
    this.#exchange.provider = this.#provider.name;
    this.#exchange.attempts++;
    this.#span = new AttemptSpan(this.#exchange, this.upstream);
    this.#key = this.#provider.keys.next();
    const call = this.#provider.send(path, text, { ...headers, ...this.#span.headers }, this.#key);
    this.#call = call;
    this.#exchange.onAbort(this.#cancel);
    const head = await call.head;
    this.#begun = true;
    if (head.status >= 300) {
      const text = await this.#errorText(call, head);
      const status = this.#statusOf(head, text);
      const retry_after_s = secondsOf(head.headers['retry-after'], this.#exchange.clock.epoch_ms());
      this.#keyDeclined = this.#provider.keys.answered(this.#key, status, retry_after_s);
      throw failureOfStatus(status, head.headers, text, this.#provider.config.pass_upstream_429);
    }
    return { head, call };
  }

  /** What an error body says; the status counts even when that cannot be read. */
  async #errorText(call: UpstreamCall, head: ResponseHead): Promise<string> {
    const patience = setTimeout(() => call.cancel(new Error('a slow error body')), error_body_ms);
    try {
      const text = await beginningOf(bytesOf(call, head), error_body_bytes);
      return this.#provider.redacted(text);
    } catch {
      return '';
    } finally {
      clearTimeout(patience);
    }
  }

  /** What the status means; some servers use one in a way of their own. */
  #statusOf({ status }: ResponseHead, text: string): number {
    const { adapter } = this.#provider;
    return adapter.errorStatus ? adapter.errorStatus(status, jsonOf(text)) : status;
  }

  readonly #cancel = () => this.cancel();

  #waited(): void {
    if (this.#answered) return;
    this.#answered = true;
    this.#exchange.upstream_wait_ms += this.#exchange.clock.elapsed_ms() - this.#sent_ms;
  }

  #failed(thrown: unknown): GatewayError {
    // Whatever an aborted call throws is our own doing; the reason is on the exchange.
    if (this.#ended) return refusal('server_error', { cause: thrown });
    // The request could not even be written: a mistake in this process, not the upstream's.
    if (this.#sent_ms === 0) {
      this.#ended = true;
      return GatewayError.from(thrown);
    }
    const failure = isFailure(thrown) ? thrown : this.#failureOf(thrown);
    this.failure = failure;
    this.#waited();
    this.#end(failure.kind);
    this.#call?.cancel(new Error('the attempt has failed'));
    return failure.error;
  }

  #failureOf(thrown: unknown): Failure {
    const provider = this.#provider;
    const told = UpstreamError.is(thrown)
      ? new UpstreamError(provider.redacted(thrown.message), thrown.status)
      : thrown;
    return failureOf(told, this.#begun, provider.config.pass_upstream_429);
  }

  #end(kind: string | undefined): void {
    if (this.#ended) return;
    this.#ended = true;
    clearTimeout(this.#patience);
    this.#exchange.offAbort(this.#cancel);
    if (!this.#span) return;
    const duration_ms = this.#exchange.clock.elapsed_ms() - this.#sent_ms;
    this.#metrics.attempted(this.#exchange, this.#provider.name, duration_ms, kind);
    this.#span.ended(kind);
  }

  /** The exchange has ended, and what it used is known. */
  settled(): void {
    this.#span?.settled();
  }
}

/** Whether a chunk carries anything of the answer, be it that it has ended; a role and usage are none. */
function isGenerated({ choices }: Chunk): boolean {
  return choices.some(
    ({ delta, finish_reason }) =>
      finish_reason !== null || delta.content || delta.reasoning || delta.tool_calls?.length || delta.refusal,
  );
}

const isFailure = (thrown: unknown): thrown is Failure =>
  typeof thrown === 'object' && thrown !== null && 'kind' in thrown && 'error' in thrown;
