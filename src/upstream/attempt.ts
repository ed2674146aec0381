import type { Chunk, Completion } from '../canonical.ts';
import { GatewayError, refusal } from '../errors.ts';
import type { Exchange } from '../exchange.ts';
import { ignoredByUpstream } from '../ignored-parameters.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { Admission } from './admission.ts';
import { AttemptSpan } from './attempt-span.ts';
import type { BodyConsumer, ResponseHead, UpstreamCall } from './call.ts';
import type { ChunkFeed } from './chunk-feed.ts';
import { ChunkTimes } from './chunk-times.ts';
import { chunkOf, decodeText, EventReader, isEventStream } from './decode.ts';
import { endReasonOf, type Failure, failureOf, failureOfStatus, retryAfter_s } from './failure.ts';
import { FeedGate } from './feed-gate.ts';
import type { ProviderKey } from './key-pool.ts';
import type { Provider } from './provider.ts';
import { beginningOf, bytesOf, isPlain, textOf } from './read-body.ts';
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
/** Above this much that nobody has read the upstream is paused: an event may be as large as the configuration allows. */
const max_unread_bytes = 256 * 1024;

/** One call to one provider. Ends by itself, by its reader leaving, by `cancel`, or when the exchange aborts. */
export class Attempt {
  /** What went wrong, once the attempt has failed; not there when it was ended from here, or nothing was sent. */
  failure: Failure | undefined;
  /** Something generated has arrived: from here on this attempt is the answer, whatever becomes of it (protocol i6). */
  generated = false;
  readonly #exchange: Exchange;
  readonly #admission: Admission;
  readonly #provider: Provider;
  readonly #metrics: Metrics;
  #call: UpstreamCall | undefined;
  #span: AttemptSpan | undefined;
  /** Lets a compressed stream go on that waits for its reader. */
  #wanted: (() => void) | undefined;
  /** Read from the upstream since the feed was last empty. */
  #unread_bytes = 0;
  #key: ProviderKey | undefined;
  #sent_ms = 0;
  #times: ChunkTimes | undefined;
  #patience: NodeJS.Timeout | undefined;
  #firstWordLimit: NodeJS.Timeout | undefined;
  #totalLimit: NodeJS.Timeout | undefined;
  #begun = false;
  #waited = false;
  #ended = false;

  constructor(exchange: Exchange, admission: Admission, metrics: Metrics) {
    this.#exchange = exchange;
    this.#admission = admission;
    this.#provider = admission.upstream.provider;
    this.#metrics = metrics;
  }

  get upstream(): Upstream {
    return this.#admission.upstream;
  }

  /** Whether the upstream was asked at all: its adapter may have no words for the request. */
  get sent(): boolean {
    return this.#sent_ms > 0;
  }

  /** The whole reply, or a GatewayError. */
  async reply(): Promise<Completion> {
    try {
      const { call, head } = await this.#open();
      const reply = await this.#whole(call, head);
      this.#span?.answered(reply);
      this.#wait();
      this.#answered();
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
    const gate = new FeedGate(feed, max_held, {
      firstWord: () => {
        this.generated = true;
        clearTimeout(this.#firstWordLimit);
        this.#answered();
      },
      released: () => this.#wait(),
    });
    const { first_token_timeout_ms } = this.#provider.config;
    this.#firstWordLimit = setTimeout(this.#late, first_token_timeout_ms, 'first token').unref();
    void this.#fill(gate);
    return gate.begun;
  }

  /** All that was given has been read: more is welcome. */
  drained(): void {
    this.#unread_bytes = 0;
    this.#call?.resume();
    this.#wanted?.();
  }

  async #fill(gate: FeedGate): Promise<void> {
    try {
      const { call, head } = await this.#open();
      const { adapter, config } = this.#provider;
      if (!isEventStream(head.headers)) {
        this.#give(gate, [chunkOf(await this.#whole(call, head))]);
        this.#finish(gate);
      } else {
        const consumer = this.#eventsInto(gate, new EventReader(adapter.openStream(), config));
        if (isPlain(head)) call.readInto(consumer);
        else await this.#decompressInto(consumer, bytesOf(call, head));
      }
    } catch (thrown) {
      this.#fault(gate, thrown);
    }
  }

  /** What still comes of an attempt that is over is nobody's: the feed may be another attempt's by then. */
  #give(gate: FeedGate, chunks: Chunk[]): void {
    if (this.#ended) return;
    if (this.#span?.observes) this.#span.saw(chunks);
    this.#times?.arrived(chunks.length);
    gate.give(chunks);
  }

  #finish(gate: FeedGate): void {
    if (this.#ended) return this.#fault(gate, new Error('the attempt was over'));
    this.#end(undefined);
    gate.end();
  }

  #fault(gate: FeedGate, thrown: unknown): void {
    const told = gate.fail(this.#failed(thrown));
    if (told && this.failure) this.#exchange.end_reason ??= endReasonOf(this.failure);
  }

  /** From the socket to the first stage without a turn in between. */
  #eventsInto(gate: FeedGate, reader: EventReader): BodyConsumer {
    const give = (chunks: Chunk[]) => {
      this.#give(gate, chunks);
      if (reader.fault === undefined) return;
      if (reader.tooLarge) this.generated = true;
      this.#fault(gate, reader.fault);
    };
    const finish = () => {
      if (!this.#ended) this.#finish(gate);
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
        this.#unread_bytes = gate.unread === 0 ? 0 : this.#unread_bytes + part.length;
        return gate.hasRoom && this.#unread_bytes < max_unread_bytes;
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
        else this.#fault(gate, error);
      },
    };
  }

  /** A compressed stream, which was not asked for: slower, and as right. */
  async #decompressInto(consumer: BodyConsumer, bytes: AsyncIterable<Buffer>): Promise<void> {
    try {
      for await (const part of bytes) {
        const wantsMore = consumer.bytes(part);
        if (this.#ended) return;
        if (!wantsMore) await new Promise<void>(wanted => (this.#wanted = wanted));
      }
    } catch (thrown) {
      return consumer.fail(thrown as Error);
    }
    consumer.end();
  }

  async #whole(call: UpstreamCall, head: ResponseHead): Promise<Completion> {
    return decodeText(await this.#text(call, head), this.#provider.adapter);
  }

  async #text(call: UpstreamCall, head: ResponseHead): Promise<string> {
    const { max_reply_bytes } = this.#provider.config;
    const tooLarge = () =>
      refusal('provider_invalid', { cause: new Error(`a reply over ${max_reply_bytes} bytes`) });
    try {
      if (!isPlain(head)) return await textOf(bytesOf(call, head), max_reply_bytes);
      return (await call.whole(max_reply_bytes, tooLarge)).toString('utf8');
    } catch (thrown) {
      // What has broken off, or is too large, was generated (protocol i6).
      this.generated = call.hasBody;
      throw thrown;
    }
  }

  get ended(): boolean {
    return this.#ended;
  }

  /** Ends the call if it has not ended. */
  cancel(): void {
    if (this.#ended) return;
    this.#end('given up');
    this.#call?.cancel(new Error('the reply is not wanted any longer'));
    this.#wanted?.();
  }

  async #open(): Promise<{ head: ResponseHead; call: UpstreamCall }> {
    const { request, aborted } = this.#exchange;
    // While a stage was at work the client has left, or the gateway was closed: nobody is asked in vain.
    if (aborted || this.#ended) throw refusal('server_error');
    const { path, headers, body, ignored } = this.#provider.encode(request, this.upstream.target);
    ignoredByUpstream(this.#exchange, ignored);
    const text = JSON.stringify(body);
    this.#sent_ms = this.#exchange.clock.elapsed_ms();
    this.#times = new ChunkTimes(this.#exchange, this.#provider.name, this.#metrics.client, this.#sent_ms);
    this.#exchange.provider = this.#provider.name;
    this.#exchange.attempts++;
    this.#span = new AttemptSpan(this.#exchange, this.upstream);
    const { total_timeout_ms } = this.#provider.config;
    if (total_timeout_ms !== undefined)
      this.#totalLimit = setTimeout(this.#late, total_timeout_ms, 'total').unref();
    this.#key = this.#provider.keys.next();
    const call = this.#provider.send(path, text, { ...headers, ...this.#span.headers }, this.#key);
    this.#call = call;
    this.#exchange.onAbort(this.#cancel);
    const head = await call.head;
    this.#begun = true;
    if (head.status >= 300) {
      const text = await this.#errorText(call, head);
      const status = this.#statusOf(head, text);
      const retry_after_s = retryAfter_s(head.headers, this.#exchange.clock.epoch_ms());
      const { keys, config } = this.#provider;
      const another_key = keys.answered(this.#key, status, retry_after_s) && keys.hasFresh;
      const failure = failureOfStatus(status, head.headers, text, config.pass_upstream_429);
      throw { ...failure, retry_after_s, another_key };
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

  /** A limit of time has passed. */
  readonly #late = (limit: string): void => {
    this.#call?.cancel(refusal('provider_timeout', { cause: new Error(`the limit: ${limit}`) }));
  };

  #answered(): void {
    this.#admission.answered(this.#exchange.clock.elapsed_ms());
  }

  #wait(): void {
    if (this.#waited) return;
    this.#waited = true;
    this.#exchange.upstream_wait_ms += this.#exchange.clock.elapsed_ms() - this.#sent_ms;
  }

  #failed(thrown: unknown): GatewayError {
    // Whatever an aborted call throws is our own doing; the reason is on the exchange.
    if (this.#ended) return refusal('server_error', { cause: thrown });
    // The request could not even be written: a mistake in this process, not the upstream's.
    if (!this.sent) {
      this.#end('given up');
      return GatewayError.from(thrown);
    }
    const failure = isFailure(thrown) ? thrown : this.#failureOf(thrown);
    this.failure = failure;
    this.#exchange.failed_attempts.push({ provider: this.#provider.name, kind: failure.kind });
    this.#wait();
    this.#end(failure);
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

  #end(how: Failure | 'given up' | undefined): void {
    if (this.#ended) return;
    this.#ended = true;
    clearTimeout(this.#patience);
    clearTimeout(this.#firstWordLimit);
    clearTimeout(this.#totalLimit);
    this.#exchange.offAbort(this.#cancel);
    const now_ms = this.#exchange.clock.elapsed_ms();
    this.#admission.ended(how, now_ms);
    if (!this.#span) return;
    const kind = how === 'given up' ? 'aborted' : how?.kind;
    this.#metrics.client.attempted(this.#exchange, this.#provider.name, now_ms - this.#sent_ms, kind);
    this.#span.ended(kind);
  }

  /** Another attempt takes the place of this one, which has failed: nothing of what it may have used is billed. */
  superseded(): void {
    this.#span?.superseded();
    this.#span = undefined;
  }

  /** The exchange has ended, and what it used is known. */
  settled(): void {
    this.#span?.settled();
  }
}

const isFailure = (thrown: unknown): thrown is Failure =>
  typeof thrown === 'object' && thrown !== null && 'kind' in thrown && 'error' in thrown;
