import { Agent as HttpAgent, type IncomingMessage, type ServerResponse } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { SpanKind } from '@opentelemetry/api';
import { createProxyMiddleware, type RequestHandler } from 'http-proxy-middleware';
import { GatewayError, refusal } from '../../errors.ts';
import type { Exchange } from '../../exchange.ts';
import type { Route } from '../../inbound/endpoint.ts';
import type { BodyLimits } from '../../inbound/limits.ts';
import { restoreBody } from '../../inbound/replay-body.ts';
import type { StreamLimits } from '../../outbound/limits.ts';
import { writeBytes } from '../../outbound/write-bytes.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import { endSpan, startChildSpan, traceHeaders } from '../../telemetry/tracing.ts';
import {
  causeOf,
  type Failure,
  failureOf,
  failureOfStatus,
  isFailure,
  retryAfter_s,
} from '../attempt/failure.ts';
import type { Provider } from '../http/provider.ts';
import { beginningOf, bytesOf } from '../http/reply-body.ts';
import { PassthroughCall } from './passthrough-call.ts';
import { headersForClient, headersForUpstream } from './passthrough-headers.ts';
import { isPlainPath, pathTest, queryOf } from './passthrough-path.ts';
import type { PassthroughRule } from './passthrough-rule.ts';

/** How much of an error body is read, and for how long. */
const error_body_bytes = 64 * 1024;
const error_body_ms = 3000;

/** A route of the configuration: what lies behind it is one provider. */
export interface PassthroughRoute extends Route {
  readonly rule: PassthroughRule;
}

type PassthroughLimits = StreamLimits & Pick<BodyLimits, 'body_idle_ms' | 'body_timeout_ms'>;

export const isPassthrough = (route: Route): route is PassthroughRoute => route.name === 'passthrough';

/**
 * Paths beside the interface that go to one provider with their bytes untouched: embeddings, audio, files. Keys, request limits, metrics,
 * spans and the error envelope are the gateway's. The one place that uses http-proxy-middleware.
 */
export class Passthrough {
  readonly #routes: readonly {
    readonly matches: (path: string) => boolean;
    readonly route: PassthroughRoute;
  }[];
  readonly #legs = new Map<string, Leg>();
  readonly #limits: PassthroughLimits;
  readonly #metrics: Metrics;

  constructor(
    rules: readonly PassthroughRule[],
    providers: readonly Provider[],
    limits: PassthroughLimits,
    metrics: Metrics,
  ) {
    this.#limits = limits;
    this.#metrics = metrics;
    // Whole paths first, so that they may differ from what is said of all paths around them.
    const ordered = rules.toSorted((a, b) => Number(a.path.endsWith('*')) - Number(b.path.endsWith('*')));
    this.#routes = ordered.map(rule => ({ matches: pathTest(rule.path), route: routeOfRule(rule) }));
    for (const provider of providers) {
      if (rules.some(rule => rule.provider === provider.name))
        this.#legs.set(provider.name, new Leg(provider));
    }
  }

  /** The route of a request's path, if it is let through. A path that could lead elsewhere is let through by no rule. */
  routeOf(path: string): PassthroughRoute | undefined {
    const route = this.#routes.find(({ matches }) => matches(path))?.route;
    // A path that the configuration names has been looked at there.
    return route && (path === route.pattern || isPlainPath(path)) ? route : undefined;
  }

  /** Asks the provider and passes its reply on. Throws a GatewayError while the reply has not begun, and destroys it after. */
  async send(
    exchange: Exchange,
    { rule }: PassthroughRoute,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    const leg = this.#legs.get(rule.provider)!;
    const query = queryOf(request.url ?? '/');
    if (query === undefined) throw refusal('unknown_url');
    const call = new PassthroughCall(exchange, request, exchange.path.slice('/v1'.length) + query, {
      max_body_bytes: rule.max_body_bytes,
      min_body_bytes_per_second: rule.min_body_bytes_per_second,
      body_idle_ms: this.#limits.body_idle_ms,
      body_timeout_ms: this.#limits.body_timeout_ms,
      idle_timeout_ms: leg.provider.config.idle_timeout_ms,
    });
    const span = startChildSpan(exchange.span, `${request.method} ${rule.path}`, SpanKind.CLIENT, {});
    const sent_ms = exchange.clock.elapsed_ms();
    const waited = () => (exchange.upstream_wait_ms ||= exchange.clock.elapsed_ms() - sent_ms);
    exchange.provider = rule.provider;
    exchange.attempts++;
    let kind: string | undefined;
    try {
      leg.ask(call, rule, traceHeaders(span));
      await call.replied;
      const reply = call.reply!;
      waited();
      const { statusCode: status = 502 } = reply;
      leg.provider.keys.answered(call.key, status, retryAfter_s(reply.headers, exchange.clock.epoch_ms()));
      if (status >= 300 && status !== 304) throw await failureOfReply(status, reply, leg.provider);
      await writeBytes(exchange, response, status, headersForClient(reply.headers), reply, this.#limits);
    } catch (thrown) {
      waited();
      if (exchange.client_gone) return;
      const failure = isFailure(thrown) ? thrown : failureOfCall(thrown, response.headersSent);
      kind = failure.kind;
      exchange.end.causedBy(causeOf(failure));
      if (!response.headersSent) throw failure.error;
      // Too late for a status: the connection has been cut, and the log knows why.
      exchange.end.errorSent(failure.error.type);
      exchange.log.warn(
        { err: thrown, provider: rule.provider },
        'a reply that was passed through broke off',
      );
    } finally {
      call.end();
      this.#metrics.client.attempted(exchange, rule.provider, exchange.clock.elapsed_ms() - sent_ms, kind);
      endSpan(span, kind);
    }
  }

  close(): void {
    for (const leg of this.#legs.values()) leg.close();
  }
}

const routeOfRule = (rule: PassthroughRule): PassthroughRoute => ({
  name: 'passthrough',
  public: false,
  methods: rule.methods,
  pattern: rule.path,
  rule,
});

/** Something was thrown on the way; what the gateway itself refuses is the client's matter. */
const failureOfCall = (thrown: unknown, begun: boolean): Failure =>
  GatewayError.is(thrown) && thrown.status < 500
    ? { kind: 'refused', error: thrown }
    : failureOf(thrown, begun);

/** What the upstream's error status means to the client; a file that does not exist is the client's matter, not the operator's. */
async function failureOfReply(status: number, reply: IncomingMessage, provider: Provider): Promise<Failure> {
  const text = await errorText(reply, provider);
  const failure = failureOfStatus(status, reply.headers, text, provider.config.pass_upstream_429);
  if (status !== 404) return failure;
  return {
    kind: 'refused',
    error: refusal('unknown_url', { message: 'The upstream provider has nothing there.' }),
  };
}

async function errorText(reply: IncomingMessage, provider: Provider): Promise<string> {
  const patience = setTimeout(() => reply.destroy(), error_body_ms);
  try {
    return provider.redacted(await beginningOf(bytesOf(reply, reply), error_body_bytes));
  } catch {
    return '';
  } finally {
    clearTimeout(patience);
    reply.destroy();
  }
}

/** The way to one provider: its address and connections. */
class Leg {
  readonly provider: Provider;
  readonly #agent: HttpAgent;
  readonly #proxy: RequestHandler;

  constructor(provider: Provider) {
    const { base_url } = provider.config;
    this.provider = provider;
    // Every request may hold a connection, so a cap here would be a cap on requests.
    this.#agent = new (base_url.startsWith('https:') ? HttpsAgent : HttpAgent)({
      keepAlive: true,
      timeout: 4000,
    });
    // All its connections lead to one place, whose name need not be put together for every request.
    this.#agent.getName = () => provider.name;
    this.#proxy = createProxyMiddleware({
      target: targetOf(base_url),
      pathFilter: () => true,
      agent: this.#agent,
      changeOrigin: true,
      xfwd: false,
      // What is answered, and how, is decided here: the default plugins write errors of their own into replies that have begun.
      ejectPlugins: true,
      selfHandleResponse: true,
      plugins: [
        server => {
          server.on('proxyRes', (reply, _request, call) => callOf(call).answered(reply));
          server.on('error', (error, _request, call) => callOf(call).failed(error));
          server.on('econnreset', (error, _request, call) => callOf(call).failed(error));
        },
      ],
    });
  }

  /** Sends the call's request with the provider's credentials in place of the client's; the call is told of what comes of it. */
  ask(call: PassthroughCall, rule: PassthroughRule, trace: Record<string, string>): void {
    const { request } = call;
    call.key = this.provider.keys.next();
    restoreBody(request);
    call.headers = headersForUpstream(request.headers, rule.forward_headers, {
      ...trace,
      ...this.provider.ownHeaders,
      ...call.key?.headers,
    });
    const [asked, answered] = [call as unknown as IncomingMessage, call as unknown as ServerResponse];
    void this.#proxy(asked, answered, error => call.failed(error));
  }

  close(): void {
    this.#agent.destroy();
  }
}

/** As plain values: text would be parsed for every request, and a URL's parts be cut out of it. */
function targetOf(base_url: string): Partial<URL> {
  const { protocol, host, hostname, port, pathname } = new URL(base_url.replace(/\/+$/, ''));
  return { protocol, host, hostname: hostname.replace(/^\[|\]$/g, ''), port, pathname };
}

const callOf = (given: unknown): PassthroughCall => given as PassthroughCall;
