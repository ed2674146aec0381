import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Registry } from 'prom-client';
import { Catalog } from './catalog/catalog.ts';
import { Chain } from './chain/chain.ts';
import type { RequestHandler } from './chain/define-stage.ts';
import { type Clock, systemClock } from './clock.ts';
import { type ConfigSource, loadConfig, type Settings } from './config/load.ts';
import { type EncodedCatalog, encodeCatalog } from './dialects/models.ts';
import { refusal } from './errors.ts';
import { Exchange } from './exchange.ts';
import { discardBody } from './inbound/discard-body.ts';
import { pathOf, type Route, routeOf, unknownEndpoint } from './inbound/endpoint.ts';
import { readBody, UploadAborted } from './inbound/read-body.ts';
import { requestIdOf } from './inbound/request-id.ts';
import { watchClient } from './inbound/watch-client.ts';
import { beforeTimeLimit } from './outbound/time-limit.ts';
import { writeError } from './outbound/write-error.ts';
import { writeModels } from './outbound/write-models.ts';
import { writeJson } from './outbound/write-reply.ts';
import { writeStream } from './outbound/write-stream.ts';
import { Background } from './settlement/background.ts';
import { metered, meteredReply } from './settlement/meter.ts';
import { settle } from './settlement/settle.ts';
import { ConfiguredAccounts } from './stores/accounts.ts';
import { createLog, type Log } from './telemetry/log.ts';
import { Metrics } from './telemetry/metrics.ts';
import { startServerSpan } from './telemetry/tracing.ts';
import type { Attempt } from './upstream/attempt.ts';
import { Provider } from './upstream/provider.ts';
import { Router } from './upstream/route.ts';

/** What the surroundings of a gateway may bring along. */
export interface GatewayOptions {
  /** Answer 404 for every path that is not offered, instead of leaving it to the parent application. */
  readonly terminal?: boolean;
  readonly log?: Log;
  /** Where metrics are registered; a registry of its own without it. */
  readonly registry?: Registry;
  readonly clock?: Clock;
}

/** An Express handler that serves the interface, and what its owner needs to run it. */
export type Gateway = RequestHandler & {
  readonly settings: Settings;
  readonly registry: Registry;
  /** False once `close` has been called. */
  readonly ready: boolean;
  /** How many exchanges have begun and are not settled. */
  readonly inFlight: number;
  /** Refuses new exchanges, lets running ones finish within `drain_ms`, aborts the rest, and closes all connections. */
  close(drain_ms?: number): Promise<void>;
};

/** The whole gateway as a handler for `app.use`. Throws a ConfigError that lists every mistake of the configuration. */
export async function createGateway(source: ConfigSource, options: GatewayOptions = {}): Promise<Gateway> {
  const settings = await loadConfig(source);
  const house = new House(settings, options);
  for (const warning of settings.warnings) house.log.warn(warning);
  const handler: RequestHandler = (request, response, next) => house.receive(request, response, next);
  return Object.defineProperties(handler, {
    settings: { value: settings },
    registry: { value: house.metrics.registry },
    ready: { get: () => house.ready },
    inFlight: { get: () => house.inFlight },
    close: { value: (drain_ms = settings.server.drain_ms) => house.close(drain_ms) },
  }) as Gateway;
}

/** The parts of one gateway, and the way of a request through them. */
class House {
  readonly log: Log;
  readonly metrics: Metrics;
  ready = true;
  readonly #clock: Clock;
  readonly #settings: Settings;
  readonly #terminal: boolean;
  readonly #catalog: Catalog;
  readonly #encodedCatalog: EncodedCatalog;
  readonly #chain: Chain;
  readonly #providers: ReadonlyMap<string, Provider>;
  readonly #router: Router;
  readonly #background: Background;
  readonly #running = new Map<Exchange, Promise<void>>();

  constructor(settings: Settings, options: GatewayOptions) {
    this.#settings = settings;
    this.#terminal = options.terminal ?? false;
    this.#clock = options.clock ?? systemClock;
    this.log = options.log ?? createLog(settings.log.level);
    this.metrics = new Metrics(options.registry ?? new Registry());
    this.#catalog = new Catalog(settings.models);
    this.#encodedCatalog = encodeCatalog(settings.models);
    const accounts = new ConfiguredAccounts(settings.accounts);
    const setup = { catalog: this.#catalog, accounts, log: this.log, clock: this.#clock };
    this.#chain = new Chain(
      settings.stages.map(plan => plan.create(setup)),
      this.metrics,
    );
    this.#providers = new Map(
      settings.providers.map(({ name, definition, config, options: own }) => [
        name,
        new Provider(name, definition, config, own),
      ]),
    );
    this.#router = new Router(settings.models, this.#providers, this.metrics);
    this.#background = new Background(settings.server);
  }

  get inFlight(): number {
    return this.#running.size;
  }

  receive(request: IncomingMessage, response: ServerResponse, next: (error?: unknown) => void): void {
    const path = pathOf(request.url ?? '/');
    const route = routeOf(path);
    if (!route && !this.#terminal) return next();
    const method = request.method ?? 'GET';
    const exchange = new Exchange({
      id: requestIdOf(request.headers),
      endpoint: route ?? unknownEndpoint,
      method,
      path,
      headers: request.headers,
      log: this.log,
      clock: this.#clock,
      span: startServerSpan(`${method} ${route ? path : '/*'}`, request.headers),
    });
    this.metrics.begun(exchange);
    this.#running.set(exchange, this.#serve(exchange, route, request, response));
  }

  /** The way of a request: down the chain, to the upstream, up the chain; any throw becomes an error, and every way ends in settlement. */
  async #serve(
    exchange: Exchange,
    route: Route | undefined,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    const { server } = this.#settings;
    const passage = this.#chain.enter(exchange);
    let attempt: Attempt | undefined;
    let pending: Promise<unknown> | undefined;
    watchClient(exchange, response);
    try {
      const { dialect } = this.#admit(exchange, route);
      await passage.onHeaders();
      if (!dialect) return writeModels(exchange, response, this.#encodedCatalog);

      exchange.request = dialect.parse(await readBody(request, server, exchange.signal));
      exchange.model = this.#catalog.find(exchange.request.model);
      exchange.received_ms = this.#clock.elapsed_ms();
      await passage.onRequest();

      attempt = this.#router.attempt(exchange);
      const identity = {
        key: randomUUID(),
        created: Math.floor(this.#clock.epoch_ms() / 1000),
        model: exchange.request.model,
      };
      if (exchange.request.stream) {
        const chunks = passage.onStream(metered(exchange, attempt.stream()));
        const toClientError = (thrown: unknown) => passage.onError(thrown);
        await writeStream(exchange, response, chunks, dialect.renderStream(identity), toClientError, server);
      } else {
        const reply = meteredReply(exchange, attempt.reply());
        pending = reply;
        const shaped = await passage.onReply(
          await beforeTimeLimit(reply, exchange, server.non_stream_timeout_ms),
        );
        writeJson(exchange, response, 200, dialect.renderReply(identity, shaped));
      }
    } catch (thrown) {
      if (thrown instanceof UploadAborted) exchange.clientLeft();
      if (!exchange.client_gone) writeError(exchange, response, passage.onError(thrown));
    } finally {
      discardBody(request, server.max_body_bytes, server.body_idle_ms);
      await this.#background.finish(exchange, attempt, pending);
      passage.onSettled(settle(exchange, this.metrics));
      this.#running.delete(exchange);
    }
  }

  /** What is refused before the chain: paths and methods that are not offered, everything while shutting down (protocol a7, b2, b5). */
  #admit(exchange: Exchange, route: Route | undefined): Route {
    const { method, path } = exchange;
    if (!route)
      throw refusal('unknown_url', { message: `Unknown request URL: ${method} ${path.slice(0, 256)}.` });
    if (!route.methods.includes(method)) {
      const allow = route.methods.join(', ');
      throw refusal('method_not_allowed', {
        message: `${path} does not accept ${method}; use ${allow}.`,
        headers: { allow },
      });
    }
    if (!this.ready) throw refusal('server_error', { headers: { connection: 'close' } });
    return route;
  }

  async close(drain_ms: number): Promise<void> {
    this.ready = false;
    const timer = setTimeout(() => {
      for (const exchange of this.#running.keys()) exchange.abort('shutdown');
    }, drain_ms);
    while (this.#running.size > 0) await Promise.all(this.#running.values());
    clearTimeout(timer);
    await Promise.all([...this.#providers.values()].map(provider => provider.close()));
  }
}
