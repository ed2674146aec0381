import type { IncomingMessage, ServerResponse } from 'node:http';
import type { PassthroughRule } from '../../config/passthrough-rule.ts';
import type { Exchange } from '../../gateway/exchange/exchange.ts';
import { withoutPrompt } from '../../gateway/exchange/prompt-filter.ts';
import type { BodyLimits } from '../../gateway/inbound/body-limits.ts';
import { UploadAborted } from '../../gateway/inbound/upload.ts';
import type { StreamLimits } from '../../gateway/outbound/reply-limits.ts';
import type { Background } from '../../gateway/settlement/background.ts';
import {
  AttemptFailed,
  causeOf,
  type Failure,
  isRetryable,
  retryAfter_s,
  staleConnection,
  textOfFailure,
} from '../../gateway/upstream/attempt/attempt-failure.ts';
import type { Provider } from '../../gateway/upstream/http/provider.ts';
import type { AttemptPermit } from '../../gateway/upstream/routing/attempt-permit.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import { restoreBody } from '../replay-body.ts';
import { failureOfCall, failureOfReply } from './passthrough-failure.ts';
import { headersForClient, headersForUpstream, meteredHeaders } from './passthrough-headers.ts';
import type { PassthroughMeter } from './passthrough-meter.ts';
import { PassthroughTelemetry } from './passthrough-telemetry.ts';
import type { ProviderProxy } from './provider-proxy.ts';
import type { ServedModels } from './served-models.ts';
import { writeBytes } from './write-bytes.ts';

/** A request that is passed through. */
export interface Transfer {
  readonly exchange: Exchange;
  readonly rule: PassthroughRule;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly query: string;
  readonly to: Target;
  readonly meter: PassthroughMeter | undefined;
  /** Length of the body, if it was read and may have been written anew. */
  readonly length_bytes?: number;
  /** Permit of an upstream that a model was found for. */
  readonly permit?: AttemptPermit;
  /** Whether another upstream is asked if this one fails. */
  readonly mayFollow?: boolean;
}

/** A provider that is sent calls. */
export interface Target {
  readonly provider: Provider;
  readonly proxy: ProviderProxy;
  readonly models: ServedModels;
}

/** Limits of uploads and replies. */
export type TransferLimits = StreamLimits & Pick<BodyLimits, 'body_idle_ms' | 'body_timeout_ms'>;

/** The parts of the gateway that transfers use. */
export interface TransferParts {
  readonly metrics: Metrics;
  readonly background: Background;
}

/** Sends requests to a provider, and its replies to the client. */
export class Transfers {
  readonly #limits: TransferLimits;
  readonly #parts: TransferParts;

  constructor(limits: TransferLimits, parts: TransferParts) {
    this.#limits = limits;
    this.#parts = parts;
  }

  /** Makes an attempt, and another where it was the connection that was stale. It has `failed` if another upstream is to be asked. */
  async send(transfer: Transfer): Promise<'ended' | 'failed' | 'stale'> {
    const how = await this.#attempt(transfer);
    return how === 'stale' ? this.#attempt(transfer, true) : how;
  }

  /**
   * Makes an attempt. It is `stale` if the provider has closed a kept connection as the request came: `isResent` makes it once more, on a
   * new one. It has `failed` if another upstream is to be asked.
   */
  async #attempt(transfer: Transfer, isResent = false): Promise<'ended' | 'stale' | 'failed'> {
    const { exchange, rule, request, response, meter, permit } = transfer;
    const { provider, proxy } = transfer.to;
    const key = provider.keys.next();
    const attempt = exchange.beginAttempt({
      provider: provider.name,
      paid_prices: permit?.upstream.paid_prices,
    });
    const { client } = this.#parts.metrics;
    const call = new PassthroughTelemetry(exchange, provider, rule.path, client, attempt);
    let failure: Failure | undefined;
    let isStale = false;
    try {
      const own = { ...call.headers, ...provider.ownHeaders, ...key?.headers };
      const reply = await this.#replyTo(transfer, own, isResent);
      call.waited();
      const { statusCode: status = 502 } = reply;
      attempt.status = status;
      provider.keys.answered(key, status, retryAfter_s(reply.headers, exchange.clock.epoch_ms()));
      if (status >= 300 && status !== 304)
        throw new AttemptFailed(await failureOfReply(status, reply, provider));
      permit?.answered(exchange.clock.elapsed_ms());
      meter?.begin(reply);
      if (meter?.readsOn) proxy.readOn(request, response);
      await this.#passOn(exchange, response, status, reply, meter);
    } catch (thrown) {
      const isWanted = !isResent && !exchange.aborted && !exchange.client_gone;
      isStale = isWanted && proxy.canSendAgain(request, thrown);
      if (isStale) {
        failure = staleConnection(thrown);
        return 'stale';
      }
      call.waited();
      if (exchange.client_gone) return 'ended';
      if (request.errored) throw new UploadAborted('the client left while sending its request');
      failure = failureOfCall(thrown, response.headersSent);
      if (transfer.mayFollow && !response.headersSent && !exchange.aborted && isRetryable(failure)) {
        const facts = { provider: provider.name, kind: failure.kind, model: exchange.model?.id };
        const err = withoutPrompt(exchange, failure.error.cause);
        exchange.log.warn({ ...facts, err }, 'attempt failed, retrying');
        return 'failed';
      }
      exchange.end.causedBy(causeOf(failure));
      if (!response.headersSent) throw failure.error;
      // Too late for a status: the connection has been cut, and the log knows why.
      exchange.end.errorSent(failure.error);
      exchange.log.warn({ err: thrown, provider: provider.name }, 'passthrough reply broke off');
    } finally {
      proxy.end(request);
      // What came before a reply broke off may still be decompressed.
      await meter?.done;
      if (!isStale) meter?.settle(failure !== undefined);
      if (!isStale)
        permit?.ended(
          failure ?? (exchange.client_gone ? 'given up' : undefined),
          exchange.clock.elapsed_ms(),
        );
      if (failure) attempt.ended('failed', failure.kind, textOfFailure(exchange, failure));
      else attempt.ended(exchange.client_gone ? 'aborted' : 'completed');
      call.ended(meter?.names ?? {});
    }
    return 'ended';
  }

  /** Sends a request on, with our `own` headers. Resolves once the reply begins. */
  async #replyTo(
    { exchange, rule, request, response, query, meter, to, length_bytes }: Transfer,
    own: Readonly<Record<string, string>>,
    isResent: boolean,
  ): Promise<IncomingMessage> {
    // Node destroys a request after its `end` event, in which a body parser may have called this; that must not hit the restored body.
    if (request.readableEnded) await Promise.resolve();
    if (!isResent) restoreBody(request);
    const headers = meter ? meteredHeaders(request.headers) : request.headers;
    const framing = { 'content-length': String(length_bytes), 'transfer-encoding': undefined };
    const given = length_bytes === undefined ? headers : { ...headers, ...framing };
    return to.proxy.forward(exchange, request, response, {
      url: exchange.path.slice('/v1'.length) + query,
      headers: headersForUpstream(given, rule.forward_headers, own),
      limits: { ...this.#limits, ...rule },
      onBody: meter?.onBody,
      isResent,
    });
  }

  /** Sends the reply to the client, and resolves when its usage is known as well. */
  async #passOn(
    exchange: Exchange,
    response: ServerResponse,
    status: number,
    reply: IncomingMessage,
    meter: PassthroughMeter | undefined,
  ): Promise<void> {
    const headers = headersForClient(reply.headers);
    await writeBytes(exchange, response, status, headers, reply, this.#limits, meter?.readsOn);
    const rest = { ended: false, cancel: () => void reply.destroy() };
    if (meter?.readsOn && exchange.client_gone)
      await this.#parts.background.finish(exchange, rest, meter.done);
    else await meter?.done;
  }
}
