import type { Chunk, Completion } from '../canonical.ts';
import { GatewayError, refusal } from '../errors.ts';
import type { Exchange } from '../exchange.ts';
import { ignoredByUpstream } from '../ignored-parameters.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { Target } from './adapter.ts';
import { AttemptSpan } from './attempt-span.ts';
import type { BodyConsumer, ResponseHead, UpstreamCall } from './call.ts';
import { ChunkFeed, type ChunkObserver } from './chunk-feed.ts';
import { chunkOf, decodeStream, decodeText, decodeWhole, EventReader, isEventStream } from './decode.ts';
import { type Failure, failureOf, failureOfStatus } from './failure.ts';
import type { Provider } from './provider.ts';
import { beginningOf, bytesOf, isPlain } from './read-body.ts';
import { jsonOf, UpstreamError } from './read-error.ts';

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

/** One call to one provider. Ends by itself, by its reader leaving, by `cancel`, or when the exchange aborts. */
export class Attempt {
  readonly #exchange: Exchange;
  readonly #provider: Provider;
  readonly #target: Target;
  readonly #metrics: Metrics;
  #call: UpstreamCall | undefined;
  #span: AttemptSpan | undefined;
  /** Lets a compressed stream go on that waits for its reader. */
  #wanted: (() => void) | undefined;
  /** Read from the upstream since the feed was last empty. */
  #unread_bytes = 0;
  #sent_ms = 0;
  #patience: NodeJS.Timeout | undefined;
  #begun = false;
  #ended = false;

  constructor(exchange: Exchange, provider: Provider, target: Target, metrics: Metrics) {
    this.#exchange = exchange;
    this.#provider = provider;
    this.#target = target;
    this.#metrics = metrics;
  }

  /** The whole reply, or a GatewayError. */
  async reply(): Promise<Completion> {
    try {
      const { call, head } = await this.#open();
      const reply = await this.#whole(call, head);
      this.#waited();
      this.#end(undefined);
      return reply;
    } catch (thrown) {
      throw this.#failed(thrown);
    }
  }

  /** The reply as it comes, seen by `observer` chunk by chunk. The request is sent when the first chunk is asked for. */
  stream(observer: ChunkObserver): AsyncIterable<Chunk> {
    const feed: ChunkFeed = new ChunkFeed(
      {
        begin: () => void this.#fill(feed),
        drained: () => {
          this.#unread_bytes = 0;
          this.#call?.resume();
          this.#wanted?.();
        },
        left: () => {
          this.cancel();
          this.#wanted?.();
        },
      },
      observer,
    );
    return feed;
  }

  async #fill(feed: ChunkFeed): Promise<void> {
    try {
      const { call, head } = await this.#open();
      const { adapter, config } = this.#provider;
      if (!isEventStream(head.headers)) {
        const reply = chunkOf(await this.#whole(call, head));
        this.#waited();
        feed.push([reply]);
        this.#end(undefined);
        feed.end();
      } else if (isPlain(head)) {
        call.readInto(this.#eventsInto(feed, new EventReader(adapter.openStream(), config)));
      } else await this.#decompressInto(feed, call, head);
    } catch (thrown) {
      feed.fail(this.#failed(thrown));
    }
  }

  /** From the socket to the first stage without a turn in between. */
  #eventsInto(feed: ChunkFeed, reader: EventReader): BodyConsumer {
    const give = (chunks: Chunk[]) => {
      if (chunks.length > 0 && this.#exchange.upstream_wait_ms === 0) this.#waited();
      feed.push(chunks);
      if (reader.fault !== undefined) feed.fail(this.#failed(reader.fault));
    };
    const finish = () => {
      if (this.#ended) return;
      this.#end(undefined);
      feed.end();
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
        else feed.fail(this.#failed(error));
      },
    };
  }

  /** A compressed stream, which was not asked for: slower, and as right. */
  async #decompressInto(feed: ChunkFeed, call: UpstreamCall, head: ResponseHead): Promise<void> {
    const { adapter, config } = this.#provider;
    const done = () => this.#call?.release(done_patience_ms);
    for await (const chunk of decodeStream(bytesOf(call, head), head.headers, adapter, config, done)) {
      if (this.#exchange.upstream_wait_ms === 0) this.#waited();
      feed.push([chunk]);
      if (feed.unread >= max_unread_chunks) await new Promise<void>(wanted => (this.#wanted = wanted));
    }
    this.#end(undefined);
    feed.end();
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

  /** Ends the call if it has not ended. */
  cancel(): void {
    if (this.#ended) return;
    this.#end('aborted');
    this.#call?.cancel(new Error('the reply is not wanted any longer'));
  }

  async #open(): Promise<{ head: ResponseHead; call: UpstreamCall }> {
    const { request, aborted } = this.#exchange;
    // While a stage was at work the client has left, or the gateway was closed: nobody is asked in vain.
    if (aborted) throw refusal('server_error');
    const { path, headers, body, ignored } = this.#provider.encode(request, this.#target);
    ignoredByUpstream(this.#exchange, ignored);
    const text = JSON.stringify(body);
    this.#sent_ms = this.#exchange.clock.elapsed_ms();
    this.#exchange.provider = this.#provider.name;
    this.#exchange.attempts++;
    this.#span = new AttemptSpan(this.#exchange, this.#provider, this.#target);
    const call = this.#provider.send(path, text, { ...headers, ...this.#span.headers });
    this.#call = call;
    this.#exchange.onAbort(this.#cancel);
    const head = await call.head;
    this.#begun = true;
    if (head.status >= 300) {
      const text = await this.#errorText(call, head);
      throw failureOfStatus(
        this.#statusOf(head, text),
        head.headers,
        text,
        this.#provider.config.pass_upstream_429,
      );
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
    this.#exchange.upstream_wait_ms = this.#exchange.clock.elapsed_ms() - this.#sent_ms;
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
    this.#exchange.upstream_wait_ms ||= this.#exchange.clock.elapsed_ms() - this.#sent_ms;
    this.#exchange.end_reason ??= failure.kind === 'refused' ? 'refused' : 'upstream_failed';
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

const isFailure = (thrown: unknown): thrown is Failure =>
  typeof thrown === 'object' && thrown !== null && 'kind' in thrown && 'error' in thrown;
