import type { Metrics } from '../../../telemetry/metrics.ts';
import type { Chunk, Completion } from '../../exchange/canonical.ts';
import { GatewayError, refusal } from '../../exchange/errors.ts';
import type { Exchange } from '../../exchange/exchange.ts';
import { withoutPrompt } from '../../exchange/prompt-filter.ts';
import { decodeText, isEventStream } from '../http/decode-reply.ts';
import type { Provider } from '../http/provider.ts';
import { decompressed, textOf } from '../http/reply-body.ts';
import { StreamReader, type StreamReaderOwner } from '../http/stream-reader.ts';
import type { ResponseHead } from '../http/upstream-call.ts';
import { WholeReply } from '../http/whole-reply.ts';
import type { AttemptPermit } from '../routing/attempt-permit.ts';
import type { Upstream } from '../routing/upstream.ts';
import { causeOf, type Failure, textOfFailure } from './attempt-failure.ts';
import type { AttemptProgress, AttemptStream } from './attempt-stream.ts';
import { SentRequest } from './sent-request.ts';

/** One call to one provider. Ends by itself, by its reader leaving, by `cancel`, or when the exchange aborts. */
export class Attempt implements AttemptProgress, StreamReaderOwner {
  readonly upstream: Upstream;
  /** Set once the attempt has failed; not by `cancel`, nor when nothing was sent. */
  failure: Failure | undefined;
  /** True once generated content has arrived: no retry may follow. */
  generated = false;
  isOver = false;
  /** True for the second sending of a request whose connection was stale. */
  readonly isResent: boolean;
  readonly #exchange: Exchange;
  readonly #permit: AttemptPermit;
  readonly #provider: Provider;
  readonly #metrics: Metrics;
  readonly #wait_ms: number;
  #sent: SentRequest | undefined;
  #stream: AttemptStream | undefined;
  #reader: StreamReader | WholeReply | undefined;
  #firstWordLimit: NodeJS.Timeout | undefined;
  #totalLimit: NodeJS.Timeout | undefined;
  #waited = false;
  #superseded = false;

  /** `wait_ms` is the time for which the permit was waited for; one that `isResent` has a new connection. */
  constructor(exchange: Exchange, permit: AttemptPermit, metrics: Metrics, wait_ms = 0, isResent = false) {
    this.#exchange = exchange;
    this.#permit = permit;
    this.#metrics = metrics;
    this.#wait_ms = wait_ms;
    this.isResent = isResent;
    this.upstream = permit.upstream;
    this.#provider = permit.upstream.provider;
  }

  /** True once the request was sent; it never is if the adapter cannot express it. */
  get sent(): boolean {
    return this.#sent !== undefined;
  }

  /** Resolves with the whole reply; rejects with a GatewayError. */
  async reply(): Promise<Completion> {
    try {
      const sent = this.#send();
      const reply = await this.#whole(sent, await sent.head());
      sent.telemetry.reply(reply);
      this.released();
      this.#answered();
      this.#end(undefined);
      return reply;
    } catch (thrown) {
      throw this.#failed(thrown);
    }
  }

  /** Sends the request and fills `stream`. Rejects with a GatewayError when the attempt fails before anything was passed on. */
  fill(stream: AttemptStream): Promise<void> {
    const { first_token_timeout_ms } = this.#provider.config;
    this.#firstWordLimit = setTimeout(this.#late, first_token_timeout_ms, 'first token').unref();
    this.#stream = stream;
    const begun = stream.attempt(this);
    this.#read().catch(thrown => this.fault(thrown, false));
    return begun;
  }

  firstWord(): void {
    this.generated = true;
    this.#sent?.record.firstToken();
    clearTimeout(this.#firstWordLimit);
    this.#exchange.whenAnswered?.();
    this.#answered();
  }

  /** Adds the wait for the reply to that of the exchange, once. */
  released(): void {
    if (this.#waited || !this.#sent) return;
    this.#waited = true;
    this.#exchange.upstream_wait_ms += this.#sent.record.elapsed_ms;
  }

  /** Resumes reading, because the sink takes chunks again. */
  drained(): void {
    this.#reader?.drained();
  }

  /** Passes chunks on; false asks for a pause. Ignores chunks after the end, when another attempt may fill the stream. */
  give(chunks: readonly Chunk[]): boolean {
    if (this.isOver) return true;
    this.#sent?.telemetry.chunks(chunks);
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
    const isStreamFailed = this.#stream?.fail(this.#failed(thrown), this);
    if (isStreamFailed && this.failure) this.#exchange.end.causedBy(causeOf(this.failure));
  }

  /** Ends the call if it has not ended. */
  readonly cancel = (): void => {
    if (this.isOver) return;
    this.#end('given up');
    this.#sent?.call.cancel(new Error('the reply is not wanted any longer'));
  };

  /** Fails the attempt because its upstream is unhealthy, unless something of the reply has arrived. */
  unhealthy(): void {
    const call = this.#sent?.call;
    if (call && !call.hasBody && !this.isOver)
      call.cancel(refusal('provider_unhealthy', { cause: new Error('its health check failed') }));
  }

  /** Closes a failed attempt that another one follows; its usage is not billed. */
  superseded(): void {
    this.#superseded = true;
    this.#sent?.telemetry.superseded();
  }

  /** Closes the attempt after its exchange has ended and the usage is known. */
  settled(): void {
    if (!this.#superseded) this.#sent?.telemetry.settled();
  }

  #send(): SentRequest {
    // The client has left while a stage worked, or the gateway was closed.
    if (this.#exchange.aborted || this.isOver) throw refusal('server_error');
    const { client } = this.#metrics;
    const sent = new SentRequest(this.#exchange, this.upstream, client, this.#wait_ms, this.isResent);
    this.#sent = sent;
    const { total_timeout_ms } = this.#provider.config;
    if (total_timeout_ms !== undefined)
      this.#totalLimit = setTimeout(this.#late, total_timeout_ms, 'total').unref();
    this.#exchange.onAbort(this.cancel);
    return sent;
  }

  async #read(): Promise<void> {
    const sent = this.#send();
    const head = await sent.head();
    const { adapter, config } = this.#provider;
    if (isEventStream(head.headers)) {
      const decoder = sent.telemetry.decoderOf(adapter.openStream());
      const reader = new StreamReader(decoder, this, config, this.#exchange.request.n);
      this.#reader = reader;
      reader.read(decompressed(sent.call, head));
    } else {
      const reply = new WholeReply(await this.#whole(sent, head), this);
      this.#reader = reply;
      reply.give();
    }
  }

  async #whole({ call, telemetry }: SentRequest, head: ResponseHead): Promise<Completion> {
    const { adapter, config } = this.#provider;
    let text: string;
    try {
      text = await textOf(decompressed(call, head), config.max_reply_bytes);
    } catch (thrown) {
      // A reply that was cut off or is too large was generated all the same.
      this.generated = call.hasBody;
      throw thrown;
    }
    return decodeText(text, telemetry.adapterOf(adapter));
  }

  /** Reports an error that came when the answer was whole. */
  #endedLate(thrown: unknown): void {
    const { name: provider } = this.#provider;
    this.#metrics.routing.endedLate(provider);
    const err = withoutPrompt(this.#exchange, this.#sent?.failureOf(thrown).error);
    this.#exchange.log.warn({ err, provider }, 'the upstream failed after its last finish_reason');
  }

  /** Fails the attempt because a time limit has passed. */
  readonly #late = (limit: string): void => {
    this.#sent?.call.cancel(refusal('provider_timeout', { cause: new Error(`the limit: ${limit}`) }));
  };

  #answered(): void {
    this.#permit.answered(this.#exchange.clock.elapsed_ms());
  }

  #failed(thrown: unknown): GatewayError {
    // An aborted call throws; the cause is on the exchange.
    if (this.isOver) return refusal('server_error', { cause: thrown });
    // The request could not be encoded, which is not the upstream's fault.
    if (!this.#sent) {
      this.#end('given up');
      return GatewayError.from(thrown);
    }
    const failure = this.#sent.failureOf(thrown);
    this.failure = failure;
    this.released();
    this.#end(failure);
    this.#sent.call.cancel(new Error('the attempt has failed'));
    return failure.error;
  }

  #end(how: Failure | 'given up' | undefined): void {
    if (this.isOver) return;
    this.isOver = true;
    this.#reader?.close();
    clearTimeout(this.#firstWordLimit);
    clearTimeout(this.#totalLimit);
    this.#exchange.offAbort(this.cancel);
    this.#permit.ended(how, this.#exchange.clock.elapsed_ms());
    const record = this.#sent?.record;
    if (how === undefined) record?.ended('completed');
    else if (how === 'given up' || how.kind === 'aborted') record?.ended('aborted');
    else record?.ended('failed', how.kind, textOfFailure(this.#exchange, how));
    this.#sent?.telemetry.ended();
  }
}
