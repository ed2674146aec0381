import { type Span, SpanKind } from '@opentelemetry/api';
import type { Chunk, Completion } from '../canonical.ts';
import { GatewayError, refusal } from '../errors.ts';
import type { Exchange } from '../exchange.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { endSpan, startChildSpan, traceHeaders } from '../telemetry/tracing.ts';
import type { Target } from './adapter.ts';
import type { ResponseHead, UpstreamCall } from './call.ts';
import { decodeStream, decodeWhole } from './decode.ts';
import { type Failure, failureOf, failureOfStatus } from './failure.ts';
import type { Provider } from './provider.ts';
import { beginningOf, bytesOf } from './read-body.ts';

/** How much of an error body is read: some servers repeat the whole prompt in it. */
const error_body_bytes = 1024 * 1024;
/** How long an upstream may take to close a stream after `[DONE]` before its connection is given up. */
const done_patience_ms = 1000;

/** One call to one provider. Ends by itself, by its reader leaving, by `cancel`, or when the exchange aborts. */
export class Attempt {
  readonly #exchange: Exchange;
  readonly #provider: Provider;
  readonly #target: Target;
  readonly #metrics: Metrics;
  #call: UpstreamCall | undefined;
  #span: Span | undefined;
  #sent_ms = 0;
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
      const { bytes } = await this.#open();
      const reply = await decodeWhole(bytes, this.#provider.adapter, this.#provider.config);
      this.#waited();
      this.#end(undefined);
      return reply;
    } catch (thrown) {
      throw this.#failed(thrown);
    }
  }

  /** The reply as it comes. The request is sent when the first chunk is asked for. */
  async *stream(): AsyncGenerator<Chunk> {
    try {
      const { bytes, head } = await this.#open();
      const { adapter, config } = this.#provider;
      const done = () => this.#call?.release(done_patience_ms);
      for await (const chunk of decodeStream(bytes, head.headers, adapter, config, done)) {
        if (this.#exchange.upstream_wait_ms === 0) this.#waited();
        yield chunk;
      }
      this.#end(undefined);
    } catch (thrown) {
      throw this.#failed(thrown);
    } finally {
      this.cancel();
    }
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

  async #open(): Promise<{ head: ResponseHead; bytes: AsyncIterable<Buffer> }> {
    const { signal, request, span } = this.#exchange;
    const { path, headers, body } = this.#provider.adapter.encode(request, this.#target);
    const text = JSON.stringify(body);
    this.#sent_ms = this.#exchange.clock.elapsed_ms();
    this.#exchange.provider = this.#provider.name;
    this.#exchange.attempts++;
    this.#span = startChildSpan(span, `chat ${this.#target.model}`, SpanKind.CLIENT, {});
    this.#describe(this.#span);
    const call = this.#provider.send(path, text, { ...headers, ...traceHeaders(this.#span) });
    this.#call = call;
    if (signal.aborted) this.cancel();
    else signal.addEventListener('abort', this.#onAbort, { once: true });
    const head = await call.head;
    this.#begun = true;
    if (head.status >= 300) {
      const text = await this.#errorText(call, head);
      throw failureOfStatus(head.status, head.headers, text, this.#provider.config.pass_upstream_429);
    }
    return { head, bytes: bytesOf(call, head) };
  }

  /** What an error body says; the status counts even when that cannot be read. */
  async #errorText(call: UpstreamCall, head: ResponseHead): Promise<string> {
    try {
      return await beginningOf(bytesOf(call, head), error_body_bytes);
    } catch {
      return '';
    }
  }

  readonly #onAbort = () => this.cancel();

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
    const failure = isFailure(thrown) ? thrown : failureOf(thrown, this.#begun);
    this.#exchange.upstream_wait_ms ||= this.#exchange.clock.elapsed_ms() - this.#sent_ms;
    this.#exchange.end_reason ??= failure.kind === 'refused' ? 'refused' : 'upstream_failed';
    this.#end(failure.kind);
    this.#call?.cancel(new Error('the attempt has failed'));
    return failure.error;
  }

  #end(kind: string | undefined): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#exchange.signal.removeEventListener('abort', this.#onAbort);
    if (!this.#span) return;
    const duration_ms = this.#exchange.clock.elapsed_ms() - this.#sent_ms;
    this.#metrics.attempted(this.#exchange, this.#provider.name, duration_ms, kind);
    if (this.#span.isRecording()) this.#span.setAttributes(usageAttributes(this.#exchange));
    endSpan(this.#span, kind);
  }

  #describe(span: Span): void {
    if (!span.isRecording()) return;
    const { request } = this.#exchange;
    span.setAttributes({
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': this.#provider.adapter.providerName,
      'gen_ai.request.model': this.#target.model,
      'gen_ai.request.stream': request.stream,
      'server.address': this.#provider.address.host,
      'server.port': this.#provider.address.port,
      ...(request.max_tokens !== undefined && { 'gen_ai.request.max_tokens': request.max_tokens }),
      ...(request.temperature !== undefined && { 'gen_ai.request.temperature': request.temperature }),
      ...(request.stop && { 'gen_ai.request.stop_sequences': request.stop }),
      ...(request.n !== undefined && { 'gen_ai.request.choice.count': request.n }),
    });
  }
}

const isFailure = (thrown: unknown): thrown is Failure =>
  typeof thrown === 'object' && thrown !== null && 'kind' in thrown && 'error' in thrown;

function usageAttributes({ usage }: Exchange): Record<string, number> {
  return {
    'gen_ai.usage.input_tokens': usage.prompt_tokens,
    'gen_ai.usage.output_tokens': usage.completion_tokens,
    'gen_ai.usage.cache_read.input_tokens': usage.cached_tokens,
  };
}
