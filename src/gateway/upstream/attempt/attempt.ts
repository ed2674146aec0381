import type { HistogramSeries } from '../../../telemetry/metric-series.ts';
import type { Metrics } from '../../../telemetry/metrics.ts';
import { traceHeaders } from '../../../telemetry/tracing.ts';
import type { RunningAttempt } from '../../exchange/attempt-record.ts';
import type { Chunk, Completion, Usage } from '../../exchange/canonical.ts';
import { GatewayError, refusal } from '../../exchange/errors.ts';
import type { Exchange } from '../../exchange/exchange.ts';
import { ignoredByUpstream } from '../../exchange/ignored-parameters.ts';
import { withoutPrompt } from '../../exchange/prompt-filter.ts';
import { decodeText, isEventStream } from '../http/decode-reply.ts';
import type { ProviderKey } from '../http/key-pool.ts';
import { decompressed, errorTextOf, readText } from '../http/reply-body.ts';
import { StreamReader, type StreamReaderOwner } from '../http/stream-reader.ts';
import type { CallOwner, ResponseHead, UpstreamCall } from '../http/upstream-call.ts';
import { UpstreamError } from '../http/upstream-error.ts';
import { WholeReply } from '../http/whole-reply.ts';
import type { AttemptPermit } from '../routing/attempt-permit.ts';
import type { Upstream } from '../routing/upstream.ts';
import {
  AttemptFailed,
  causeOf,
  type Failure,
  failureOf,
  failureOfErrorReply,
  retryAfter_s,
  staleConnection,
  textOfFailure,
} from './attempt-failure.ts';
import { AttemptSpan } from './attempt-span.ts';
import type { AttemptProgress, AttemptStream } from './attempt-stream.ts';

/**
 * One call to one provider. Ends by itself, by its reader leaving, by `cancel`, or when the exchange aborts. None of the headers of its
 * reply reach the client: they would reveal the server, its limits and cookies.
 */
export class Attempt implements AttemptProgress, CallOwner, StreamReaderOwner {
  readonly upstream: Upstream;
  /** Set once the attempt has failed; not by `cancel`, nor when nothing was sent. */
  failure: Failure | undefined;
  /** True once generated content has arrived: no retry may follow. */
  generated = false;
  isOver = false;
  /** Undefined without a trace. `Attempts` closes it. */
  span: AttemptSpan | undefined;
  /** True for the second sending of a request whose connection was stale. */
  readonly isResent: boolean;
  readonly #exchange: Exchange;
  readonly #permit: AttemptPermit;
  readonly #metrics: Metrics;
  readonly #wait_ms: number;
  #record: RunningAttempt | undefined;
  #key: ProviderKey | undefined;
  #call: UpstreamCall | undefined;
  #hasHead = false;
  /** Where the whole reply goes, unless it is to fill a stream. */
  #whole: Pick<PromiseWithResolvers<Completion>, 'resolve' | 'reject'> | undefined;
  #stream: AttemptStream | undefined;
  #reader: StreamReader | WholeReply | undefined;
  /** From sending to the first chunk. */
  #first_chunk_ms = 0;
  #last_chunk_ms = 0;
  /** Of the times between chunks; set with the first. */
  #chunkTime: HistogramSeries | undefined;
  #firstWordLimit: NodeJS.Timeout | undefined;
  #totalLimit: NodeJS.Timeout | undefined;
  #waited = false;

  /** `wait_ms` is the time for which the permit was waited for; one that `isResent` has a new connection. */
  constructor(exchange: Exchange, permit: AttemptPermit, metrics: Metrics, wait_ms = 0, isResent = false) {
    this.#exchange = exchange;
    this.#permit = permit;
    this.#metrics = metrics;
    this.#wait_ms = wait_ms;
    this.isResent = isResent;
    this.upstream = permit.upstream;
  }

  /** True once the request was sent; it never is if the adapter cannot express it. */
  get sent(): boolean {
    return this.#record !== undefined;
  }

  /** Closes its span and its part of a quota without usage, because another attempt follows. */
  superseded(): void {
    this.span?.superseded();
    this.#permit.used?.(this.sent && this.failure?.kind !== 'stale_connection' ? 1 : 0, 0);
  }

  /** The same with the exchange's usage, which is known. */
  settled(): void {
    this.span?.settled();
    const { prompt_tokens, completion_tokens } = this.#exchange.usage;
    this.#permit.used?.(this.sent ? 1 : 0, prompt_tokens + completion_tokens);
  }

  /** Resolves with the whole reply; rejects with a GatewayError. */
  reply(): Promise<Completion> {
    return new Promise((resolve, reject) => {
      this.#whole = { resolve, reject };
      this.#send();
    });
  }

  /** Sends the request and fills `stream`. Rejects with a GatewayError when the attempt fails before anything was passed on. */
  fill(stream: AttemptStream): Promise<void> {
    const { first_token_timeout_ms } = this.upstream.provider.config;
    this.#firstWordLimit = setTimeout(this.#late, first_token_timeout_ms, 'first token').unref();
    this.#stream = stream;
    const begun = stream.attempt(this);
    this.#send();
    return begun;
  }

  firstWord(): void {
    this.generated = true;
    this.#record?.firstToken();
    clearTimeout(this.#firstWordLimit);
    this.#exchange.whenAnswered?.();
    this.#permit.answered(this.#exchange.clock.elapsed_ms());
  }

  /** Adds the wait for the reply to that of the exchange, once. */
  released(): void {
    if (this.#waited || !this.#record) return;
    this.#waited = true;
    this.#exchange.upstream_wait_ms += this.#record.elapsed_ms;
  }

  unreleased(used: Usage): void {
    this.#record!.used = used;
  }

  /** Resumes reading, because the sink takes chunks again. */
  drained(): void {
    this.#reader?.drained();
  }

  responded(head: ResponseHead): void {
    this.#hasHead = true;
    this.#record!.status = head.status;
    if (head.status >= 300) return void this.#refused(head);
    try {
      this.#read(head);
    } catch (thrown) {
      this.fault(thrown, false);
    }
  }

  /** Takes the text of a whole reply. */
  text(text: string): void {
    try {
      const { provider } = this.upstream;
      const { operation } = this.#exchange.request;
      const adapter = operation === undefined ? provider.adapter : provider.adapterOf(operation);
      const reply = decodeText(text, this.span?.adapterOf(adapter) ?? adapter);
      if (this.#stream) {
        this.#reader = new WholeReply(reply, this);
        return this.#reader.give();
      }
      this.span?.reply(reply);
      this.released();
      const now_ms = this.#exchange.clock.elapsed_ms();
      this.#permit.answered(now_ms);
      this.#end(undefined, now_ms);
      this.#whole?.resolve(reply);
    } catch (thrown) {
      this.fault(thrown, false);
    }
  }

  /** Takes the error that ended the call, before a head came or while a whole reply was read. */
  failed(error: Error): void {
    // A reply that was cut off or is too large was generated all the same.
    this.generated = this.#call?.hasBody === true;
    this.fault(error, false);
  }

  /** Passes chunks on; false asks for a pause. Ignores chunks after the end, when another attempt may fill the stream. */
  give(chunks: readonly Chunk[]): boolean {
    if (this.isOver) return true;
    if (chunks.length > 0) {
      const now_ms = this.#exchange.clock.elapsed_ms();
      // Chunks that arrived together share their wait.
      const wait_s = (now_ms - this.#last_chunk_ms) / 1000 / chunks.length;
      this.#last_chunk_ms = now_ms;
      if (this.#chunkTime) this.#chunkTime.observe(wait_s, undefined, chunks.length);
      else this.#firstChunk();
      this.span?.chunks(chunks, this.#first_chunk_ms);
    }
    this.#stream?.give(chunks);
    return !this.#stream?.isFull;
  }

  finish(late?: unknown): void {
    if (this.isOver) return this.fault(new Error('the attempt was over'), false);
    if (late !== undefined) this.#endedLate(late);
    this.#end(undefined);
    this.#stream?.end();
  }

  fault(thrown: unknown, tooLarge: boolean): void {
    if (tooLarge) this.generated = true;
    const call = this.isOver ? undefined : this.#call;
    const error = this.#failed(thrown);
    this.#whole?.reject(error);
    if (this.#stream?.fail(error, this) && this.failure) this.#exchange.end.causedBy(causeOf(this.failure));
    call?.cancel(new Error('the attempt has failed'));
  }

  /** Ends the call if it has not ended. */
  readonly cancel = (): void => {
    if (this.isOver) return;
    this.#end('given up');
    this.#call?.cancel(new Error('the reply is not wanted any longer'));
  };

  /** Fails the attempt because its upstream is unhealthy, unless something of the reply has arrived. */
  unhealthy(): void {
    if (this.#call && !this.#call.hasBody && !this.isOver)
      this.#call.cancel(refusal('provider_unhealthy', { cause: new Error('its health check failed') }));
  }

  /** Encodes the request and sends it with one of its provider's keys; sends nothing when the adapter cannot express it. */
  #send(): void {
    const exchange = this.#exchange;
    const { provider, target } = this.upstream;
    try {
      // The client has left while a stage worked, or the gateway was closed.
      if (exchange.aborted || this.isOver) throw refusal('server_error');
      const { path, headers, body, ignored } = provider.encode(exchange.request, target);
      ignoredByUpstream(exchange, ignored);
      const text = JSON.stringify(body);
      this.#record = exchange.beginAttempt({
        provider: provider.name,
        model: target.model,
        wait_ms: this.#wait_ms,
        paid_prices: this.upstream.paid_prices,
      });
      this.span = AttemptSpan.of(exchange, this.upstream, this.#record);
      this.#key = provider.keys.next();
      const { total_timeout_ms } = provider.config;
      if (total_timeout_ms !== undefined)
        this.#totalLimit = setTimeout(this.#late, total_timeout_ms, 'total').unref();
      exchange.onAbort(this.cancel);
      const trace = this.span?.headers ?? traceHeaders(exchange.span);
      const all = headers ? { ...headers, ...trace } : trace;
      this.#call = provider.send(this, path, text, all, this.#key, this.isResent);
    } catch (thrown) {
      this.fault(thrown, false);
    }
  }

  #read(head: ResponseHead): void {
    const { provider } = this.upstream;
    const { operation, n } = this.#exchange.request;
    if (!this.#stream || !isEventStream(head.headers))
      return readText(decompressed(this.#call!, head), provider.config.max_reply_bytes, this);
    const adapter = operation === undefined ? provider.adapter : provider.adapterOf(operation);
    const decoder = adapter.openStream();
    const shown = this.span?.decoderOf(decoder) ?? decoder;
    const reader = new StreamReader(shown, this, provider.config, n);
    this.#reader = reader;
    reader.read(decompressed(this.#call!, head));
  }

  async #refused(head: ResponseHead): Promise<void> {
    const { provider } = this.upstream;
    const { keys, adapter, config } = provider;
    const text = provider.redacted(await errorTextOf(this.#call!, head));
    try {
      const { status, ...failure } = failureOfErrorReply(adapter, head, text, config.pass_upstream_429);
      const retry_after_s = retryAfter_s(head.headers, this.#exchange.clock.epoch_ms());
      const another_key = keys.answered(this.#key, status, retry_after_s) && keys.hasFresh;
      this.fault(new AttemptFailed({ ...failure, retry_after_s, another_key }), false);
    } catch (thrown) {
      this.fault(thrown, false);
    }
  }

  #firstChunk(): void {
    const { client } = this.#metrics;
    const { name } = this.upstream.provider;
    this.#first_chunk_ms = this.#record!.elapsed_ms;
    client.firstChunk(this.#exchange, name, this.#first_chunk_ms);
    this.#chunkTime = client.chunkTime(this.#exchange, name);
  }

  /** Reports an error that came when the answer was whole. */
  #endedLate(thrown: unknown): void {
    const { name: provider } = this.upstream.provider;
    this.#metrics.routing.endedLate(provider);
    const err = withoutPrompt(this.#exchange, this.#failureOf(thrown).error);
    this.#exchange.log.warn({ err, provider }, 'the upstream failed after its last finish_reason');
  }

  /** Fails the attempt because a time limit has passed. */
  readonly #late = (limit: string): void => {
    this.#call?.cancel(refusal('provider_timeout', { cause: new Error(`the limit: ${limit}`) }));
  };

  /** The failure behind an error that was thrown while the reply was awaited or read. */
  #failureOf(thrown: unknown): Failure {
    if (this.#call?.isStale) return staleConnection(thrown);
    const { provider } = this.upstream;
    const error = UpstreamError.is(thrown)
      ? new UpstreamError(provider.redacted(thrown.message), thrown.status)
      : thrown;
    return failureOf(error, this.#hasHead, provider.config.pass_upstream_429);
  }

  #failed(thrown: unknown): GatewayError {
    // An aborted call throws; the cause is on the exchange.
    if (this.isOver) return refusal('server_error', { cause: thrown });
    // The request could not be encoded, which is not the upstream's fault.
    if (!this.#record) {
      this.#end('given up');
      return GatewayError.from(thrown);
    }
    this.failure = this.#failureOf(thrown);
    this.released();
    this.#end(this.failure);
    return this.failure.error;
  }

  #end(how: Failure | 'given up' | undefined, now_ms = this.#exchange.clock.elapsed_ms()): void {
    if (this.isOver) return;
    this.isOver = true;
    this.#reader?.close();
    clearTimeout(this.#firstWordLimit);
    clearTimeout(this.#totalLimit);
    this.#exchange.offAbort(this.cancel);
    this.#permit.ended(how, now_ms);
    const record = this.#record;
    if (!record) return;
    if (how === undefined) record.ended('completed');
    else if (how === 'given up' || how.kind === 'aborted') record.ended('aborted');
    else record.ended('failed', how.kind, textOfFailure(this.#exchange, how));
    const { duration_ms = 0, error_type, status } = record;
    this.#metrics.client.attempted(
      this.#exchange,
      this.upstream.provider.name,
      duration_ms,
      error_type,
      status,
    );
    this.span?.ended();
  }
}
