import { ignoredByUpstream } from '../../exchange/ignored-parameters.ts';
import type { Exchange } from '../../exchange.ts';
import { AttemptSpan } from '../attempt/attempt-span.ts';
import { type Failure, failureOf, failureOfStatus, isFailure, retryAfter_s } from '../attempt/failure.ts';
import type { Upstream } from '../routing/upstream.ts';
import type { ProviderKey } from './key-pool.ts';
import type { Provider } from './provider.ts';
import { beginningOf, bytesOf } from './reply-body.ts';
import type { ResponseHead, UpstreamCall } from './upstream-call.ts';
import { jsonOf, UpstreamError } from './upstream-error.ts';

/** How much of an error body is read: some servers repeat the whole prompt in it. */
const error_body_bytes = 1024 * 1024;
/** How long an error body may take: its status is known, and a client waits for it. */
const error_body_ms = 3000;

/** A request that one upstream was sent: written in its format, with one of its provider's keys. */
export class SentRequest {
  readonly call: UpstreamCall;
  readonly span: AttemptSpan;
  readonly sent_ms: number;
  readonly #exchange: Exchange;
  readonly #provider: Provider;
  readonly #key: ProviderKey | undefined;
  #begun = false;

  /** Writes and sends it. Throws, and sends nothing, when the adapter has no words for it. */
  constructor(exchange: Exchange, upstream: Upstream) {
    const { provider, target } = upstream;
    const { path, headers, body, ignored } = provider.encode(exchange.request, target);
    ignoredByUpstream(exchange, ignored);
    const text = JSON.stringify(body);
    this.#exchange = exchange;
    this.#provider = provider;
    this.sent_ms = exchange.clock.elapsed_ms();
    exchange.provider = provider.name;
    exchange.attempts++;
    this.span = new AttemptSpan(exchange, upstream);
    this.#key = provider.keys.next();
    this.call = provider.send(path, text, { ...headers, ...this.span.headers }, this.#key);
  }

  /** The head of the reply. Rejects with a Failure for an error status, and with whatever the call ended with. */
  async head(): Promise<ResponseHead> {
    const head = await this.call.head;
    this.#begun = true;
    if (head.status >= 300) throw await this.#refused(head);
    return head;
  }

  /** What it means that `thrown` was thrown while the reply was awaited or read. */
  failureOf(thrown: unknown): Failure {
    if (isFailure(thrown)) return thrown;
    const provider = this.#provider;
    const told = UpstreamError.is(thrown)
      ? new UpstreamError(provider.redacted(thrown.message), thrown.status)
      : thrown;
    return failureOf(told, this.#begun, provider.config.pass_upstream_429);
  }

  async #refused(head: ResponseHead): Promise<Failure> {
    const { keys, adapter, config } = this.#provider;
    const text = await this.#errorText(head);
    // Some servers use a status in a way of their own.
    const status = adapter.errorStatus ? adapter.errorStatus(head.status, jsonOf(text)) : head.status;
    const retry_after_s = retryAfter_s(head.headers, this.#exchange.clock.epoch_ms());
    const another_key = keys.answered(this.#key, status, retry_after_s) && keys.hasFresh;
    const failure = failureOfStatus(status, head.headers, text, config.pass_upstream_429);
    return { ...failure, retry_after_s, another_key };
  }

  /** What an error body says; the status counts even when that cannot be read. */
  async #errorText(head: ResponseHead): Promise<string> {
    const { call } = this;
    const patience = setTimeout(() => call.cancel(new Error('a slow error body')), error_body_ms);
    try {
      return this.#provider.redacted(await beginningOf(bytesOf(call, head), error_body_bytes));
    } catch {
      return '';
    } finally {
      clearTimeout(patience);
    }
  }
}
