import type { ClientMetrics } from '../../../telemetry/client-metrics.ts';
import type { RunningAttempt } from '../../exchange/attempt-record.ts';
import type { Exchange } from '../../exchange/exchange.ts';
import { ignoredByUpstream } from '../../exchange/ignored-parameters.ts';
import type { ProviderKey } from '../http/key-pool.ts';
import type { Provider } from '../http/provider.ts';
import { errorTextOf } from '../http/reply-body.ts';
import type { ResponseHead, UpstreamCall } from '../http/upstream-call.ts';
import { UpstreamError } from '../http/upstream-error.ts';
import type { Upstream } from '../routing/upstream.ts';
import {
  AttemptFailed,
  type Failure,
  failureOf,
  failureOfErrorReply,
  retryAfter_s,
  staleConnection,
} from './attempt-failure.ts';
import { AttemptTelemetry } from './attempt-telemetry.ts';

/** A request to one upstream: encoded in its format and sent with one of its provider's keys. */
export class SentRequest {
  readonly call: UpstreamCall;
  readonly record: RunningAttempt;
  readonly telemetry: AttemptTelemetry;
  readonly #exchange: Exchange;
  readonly #provider: Provider;
  readonly #key: ProviderKey | undefined;
  #begun = false;

  /**
   * Encodes and sends it, after a wait of `wait_ms`, on a new connection if it `isResent`. Throws, and sends nothing, when the adapter
   * cannot express the request.
   */
  constructor(
    exchange: Exchange,
    upstream: Upstream,
    metrics: ClientMetrics,
    wait_ms: number,
    isResent = false,
  ) {
    const { provider, target } = upstream;
    const { path, headers, body, ignored } = provider.encode(exchange.request, target);
    ignoredByUpstream(exchange, ignored);
    const text = JSON.stringify(body);
    this.#exchange = exchange;
    this.#provider = provider;
    this.record = exchange.beginAttempt({ provider: provider.name, model: target.model, wait_ms });
    this.telemetry = new AttemptTelemetry(exchange, upstream, metrics, this.record);
    this.#key = provider.keys.next();
    const all = { ...headers, ...this.telemetry.headers };
    this.call = provider.send(path, text, all, this.#key, isResent);
  }

  /**
   * The head of the reply. Rejects with AttemptFailed for an error status, and with the error that ended the call. None of its headers
   * reach the client: they would reveal the server, its limits and cookies.
   */
  head(): Promise<ResponseHead> {
    return this.call.head.then(this.#arrived);
  }

  /** The failure behind an error that was thrown while the reply was awaited or read. */
  failureOf(thrown: unknown): Failure {
    if (this.call.isStale) return staleConnection(thrown);
    const provider = this.#provider;
    const error = UpstreamError.is(thrown)
      ? new UpstreamError(provider.redacted(thrown.message), thrown.status)
      : thrown;
    return failureOf(error, this.#begun, provider.config.pass_upstream_429);
  }

  readonly #arrived = (head: ResponseHead): ResponseHead | Promise<never> => {
    this.#begun = true;
    this.record.status = head.status;
    return head.status < 300 ? head : this.#refused(head);
  };

  async #refused(head: ResponseHead): Promise<never> {
    throw new AttemptFailed(await this.#failureOfHead(head));
  }

  async #failureOfHead(head: ResponseHead): Promise<Failure> {
    const { keys, adapter, config } = this.#provider;
    const text = this.#provider.redacted(await errorTextOf(this.call, head));
    const { status, ...failure } = failureOfErrorReply(adapter, head, text, config.pass_upstream_429);
    const retry_after_s = retryAfter_s(head.headers, this.#exchange.clock.epoch_ms());
    const another_key = keys.answered(this.#key, status, retry_after_s) && keys.hasFresh;
    return { ...failure, retry_after_s, another_key };
  }
}
