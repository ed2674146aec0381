import type { IncomingMessage, ServerResponse } from 'node:http';
import { isPlainPath, pathTest, queryOf } from '../../config/passthrough-path.ts';
import type { PassthroughRule } from '../../config/passthrough-rule.ts';
import type { Model } from '../../gateway/catalog/catalog.ts';
import { refusal } from '../../gateway/exchange/errors.ts';
import type { Exchange } from '../../gateway/exchange/exchange.ts';
import { type BodyLimits, tooLarge } from '../../gateway/inbound/body-limits.ts';
import type { Route } from '../../gateway/inbound/routes.ts';
import { UploadAborted } from '../../gateway/inbound/upload.ts';
import type { StreamLimits } from '../../gateway/outbound/reply-limits.ts';
import type { Background } from '../../gateway/settlement/background.ts';
import {
  AttemptFailed,
  causeOf,
  type Failure,
  retryAfter_s,
  staleConnection,
  textOfFailure,
} from '../../gateway/upstream/attempt/attempt-failure.ts';
import type { Provider } from '../../gateway/upstream/http/provider.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import { restoreBody } from '../replay-body.ts';
import { failureOfCall, failureOfReply } from './passthrough-failure.ts';
import { headersForClient, headersForUpstream, meteredHeaders } from './passthrough-headers.ts';
import { PassthroughMeter } from './passthrough-meter.ts';
import { PassthroughTelemetry } from './passthrough-telemetry.ts';
import { ProviderProxy } from './provider-proxy.ts';
import { ServedModels } from './served-models.ts';
import { mostUseOf } from './unread-use.ts';
import { writeBytes } from './write-bytes.ts';

/** A configured route to one provider. */
export interface PassthroughRoute extends Route {
  readonly rule: PassthroughRule;
}

type PassthroughLimits = StreamLimits & Pick<BodyLimits, 'body_idle_ms' | 'body_timeout_ms'>;

interface PassthroughSettings {
  readonly passthrough: readonly PassthroughRule[];
  readonly server: PassthroughLimits;
  readonly models: readonly Model[];
}

/** A request that is passed through. */
interface Transfer {
  readonly exchange: Exchange;
  readonly rule: PassthroughRule;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly query: string;
  readonly meter: PassthroughMeter | undefined;
}

export const isPassthrough = (route: Route): route is PassthroughRoute => route.name === 'passthrough';

/**
 * Paths beside the interface that go to one provider with their bytes untouched: embeddings, audio, files. Keys, limits, metrics, spans,
 * the bill of reported usage and the error envelope are the gateway's.
 */
export class Passthrough {
  readonly #routes: readonly {
    readonly matches: (path: string) => boolean;
    readonly route: PassthroughRoute;
  }[];
  readonly #upstreams = new Map<
    string,
    { readonly provider: Provider; readonly proxy: ProviderProxy; readonly models: ServedModels }
  >();
  readonly #limits: PassthroughLimits;
  readonly #metrics: Metrics;
  readonly #background: Background;

  constructor(
    { passthrough: rules, server, models }: PassthroughSettings,
    providers: readonly Provider[],
    metrics: Metrics,
    background: Background,
  ) {
    this.#limits = server;
    this.#metrics = metrics;
    this.#background = background;
    // Whole paths first, so that they take precedence over the patterns that include them.
    const ordered = rules.toSorted((a, b) => Number(a.path.endsWith('*')) - Number(b.path.endsWith('*')));
    for (const provider of providers) {
      const { name } = provider;
      if (rules.some(rule => rule.provider === name))
        this.#upstreams.set(name, {
          provider,
          proxy: new ProviderProxy(provider),
          models: new ServedModels(models, name),
        });
    }
    this.#routes = ordered.map(rule => ({
      matches: pathTest(rule.path),
      route: routeOfRule(rule, this.#upstreams.get(rule.provider)?.models),
    }));
  }

  /** Route for a request path, if a rule allows it. No rule allows a path that servers may read differently. */
  routeOf(path: string): PassthroughRoute | undefined {
    const route = this.#routes.find(({ matches }) => matches(path))?.route;
    // A configured path was checked with the configuration.
    return route && (path === route.pattern || isPlainPath(path)) ? route : undefined;
  }

  /**
   * Forwards the request to the provider and its reply to the client. Throws a GatewayError before the reply has begun; destroys the reply
   * after.
   */
  async send(
    exchange: Exchange,
    { rule }: PassthroughRoute,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    const { models } = this.#upstreams.get(rule.provider)!;
    const { url = '/' } = request;
    const query = queryOf(url);
    if (query === undefined) throw refusal('unknown_url');
    if (Number(request.headers['content-length']) > rule.max_body_bytes) throw tooLarge(rule.max_body_bytes);
    const meter = PassthroughMeter.of(exchange, models, this.#metrics, url);
    const transfer = { exchange, rule, request, response, query, meter };
    if ((await this.#attempt(transfer)) === 'stale') await this.#attempt(transfer, true);
  }

  /**
   * Makes an attempt. It is `stale` if the provider has closed a kept connection as the request came: `isResent` makes it once more, on a
   * new one.
   */
  async #attempt(transfer: Transfer, isResent = false): Promise<'ended' | 'stale'> {
    const { exchange, rule, request, response, meter } = transfer;
    const { provider, proxy } = this.#upstreams.get(rule.provider)!;
    const key = provider.keys.next();
    const attempt = exchange.beginAttempt({ provider: rule.provider });
    const call = new PassthroughTelemetry(exchange, provider, rule.path, this.#metrics.client, attempt);
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
      exchange.end.causedBy(causeOf(failure));
      if (!response.headersSent) throw failure.error;
      // Too late for a status: the connection has been cut, and the log knows why.
      exchange.end.errorSent(failure.error);
      exchange.log.warn({ err: thrown, provider: rule.provider }, 'passthrough reply broke off');
    } finally {
      proxy.end(request);
      // What came before a reply broke off may still be decompressed.
      await meter?.done;
      if (!isStale) meter?.settle(failure !== undefined);
      if (failure) attempt.ended('failed', failure.kind, textOfFailure(exchange, failure));
      else attempt.ended(exchange.client_gone ? 'aborted' : 'completed');
      call.ended(meter?.names ?? {});
    }
    return 'ended';
  }

  /** Sends a request on, with our `own` headers. Resolves once the reply begins. */
  async #replyTo(
    { exchange, rule, request, response, query, meter }: Transfer,
    own: Readonly<Record<string, string>>,
    isResent: boolean,
  ): Promise<IncomingMessage> {
    // Node destroys a request after its `end` event, in which a body parser may have called this; that must not hit the restored body.
    if (request.readableEnded) await Promise.resolve();
    if (!isResent) restoreBody(request);
    const given = meter ? meteredHeaders(request.headers) : request.headers;
    return this.#upstreams.get(rule.provider)!.proxy.forward(exchange, request, response, {
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
    if (meter?.readsOn && exchange.client_gone) await this.#background.finish(exchange, rest, meter.done);
    else await meter?.done;
  }

  close(): void {
    for (const { proxy } of this.#upstreams.values()) proxy.close();
  }
}

const routeOfRule = (rule: PassthroughRule, models: ServedModels | undefined): PassthroughRoute => ({
  name: 'passthrough',
  public: false,
  methods: rule.methods,
  pattern: rule.path,
  rule,
  mostUse: call => models && mostUseOf(call, models),
});
