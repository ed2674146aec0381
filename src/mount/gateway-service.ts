import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import type { Outage } from '../common/outage.ts';
import { ExchangeRun } from '../gateway/exchange/runner.ts';
import type { ErrorHandler, RequestHandler } from '../gateway/exchange/stage-plan.ts';
import { formatOf, type Route } from '../gateway/inbound/routes.ts';
import { startExchange } from '../gateway/inbound/start-exchange.ts';
import { closing_patience_ms } from '../gateway/outbound/reply-limits.ts';
import type { RunningExchanges } from '../records/running-exchange.ts';
import { watchEventLoop } from '../telemetry/event-loop-delay.ts';
import type { Parts } from './assemble.ts';
import { parserFault } from './chain/parser-fault.ts';
import type { Extensions } from './extensions.ts';
import { GatewayExchange, located, refusalOf } from './gateway-exchange.ts';
import { isPassthrough } from './passthrough/passthrough.ts';
import { type RunningConfiguration, RunningConfigurations } from './running-configuration.ts';
import { runningExchanges } from './running-exchanges.ts';
import { type OtherProcesses, ServerStatus } from './server-status.ts';
import { bodyFault, isWebSocket, responseOn, UpgradeExchange } from './upgrade-exchange.ts';

/** Serves requests with the configuration that is in use when they come, from the start of a gateway to its end. */
export class GatewayService {
  readonly running: RunningConfigurations;
  readonly server: ServerStatus;
  readonly exchanges: RunningExchanges;
  /** True where another process is the primary one of the server. */
  readonly isWorker: boolean;
  /** Set once they are open: they are opened with this. */
  extensions: Extensions | undefined;
  /** The handler for requests that come over the connection of one that has switched protocols. Set with `extensions`. */
  handlerFor: (upgraded: IncomingMessage) => RequestHandler = () => this.handle;
  readonly #lasting: Parts;
  readonly #unwatchEventLoop: () => void;
  readonly #closing: (() => void)[] = [];
  #phase: 'serving' | 'unready' | 'closing' = 'serving';
  #closed: Promise<void> | undefined;

  constructor(parts: Parts, others: OtherProcesses) {
    this.#lasting = parts;
    this.running = new RunningConfigurations(parts);
    parts.records.controls.onChange = () => this.running.control();
    this.#unwatchEventLoop = watchEventLoop(parts.metrics.registry);
    const status = () => ({
      in_flight: this.running.inFlight,
      ready: this.isReady,
      conditions: this.conditions,
      providers: this.parts.providers,
    });
    this.isWorker = others.primary !== undefined;
    this.server = new ServerStatus(status, parts.metrics.registry, others);
    this.exchanges = runningExchanges(() => this.running.runs().map(({ exchange }) => exchange), others);
  }

  /** The parts of the configuration that is in use. */
  get parts(): Parts {
    return this.running.current.parts;
  }

  get isDraining(): boolean {
    return this.#phase !== 'serving';
  }

  get isClosing(): boolean {
    return this.#phase === 'closing';
  }

  get isReady(): boolean {
    return !this.isDraining && !this.#lasting.state.outage?.refuses;
  }

  /** What operators should know, one per line. */
  get conditions(): string[] {
    const { state, records, clock } = this.#lasting;
    const told = (store: string, outage: Outage | undefined, meanwhile: string) => {
      if (!outage) return [];
      const out_s = Math.round((clock.epoch_ms() - outage.since_epoch_ms) / 1000);
      const why = outage.cause instanceof Error ? outage.cause.message : String(outage.cause);
      return [`the ${store} store has been down for ${out_s} s, ${meanwhile}: ${why}`];
    };
    return [
      ...(this.isDraining ? ['shutting down'] : []),
      ...told('state', state.outage, 'on_state_store_down holds'),
      ...told('records', records.outage, 'cached keys keep working for key_cache_ttl_ms'),
      ...records.ledger.conditions,
    ];
  }

  readonly handle = (request: IncomingMessage, response: ServerResponse, next?: () => void): void => {
    // The whole exchange is of one configuration.
    const own = this.running.current;
    const { path, route } = located(request, own.parts);
    // Answered by the parent already.
    if (response.headersSent) return next?.();
    const { terminal } = this.#lasting;
    if (!route && !terminal && next) return next();
    if (!route && terminal && this.extensions) {
      const unknown = () => this.#serve(own, request, response, path, route);
      if (this.extensions.servePublic(request, response, unknown)) return;
    }
    this.#serve(own, request, response, path, route);
  };

  readonly handleError: ErrorHandler = (error, request, response, next) => {
    const own = this.running.current;
    const { path, route } = located(request, own.parts);
    if (response.headersSent || (!route && !this.#lasting.terminal)) return next(error);
    const isJson = route !== undefined && !isPassthrough(route);
    const fault = parserFault(error, request, own.parts.settings.server, isJson);
    if (!fault) return next(error);
    // A reply from the catalog needs no body.
    const needsBody = formatOf(route) !== undefined || !isJson;
    this.#serve(own, request, response, path, route, needsBody ? fault : undefined);
  };

  readonly upgrades = (request: IncomingMessage): boolean =>
    this.#upgradeOf(request, located(request, this.running.current.parts).path) !== undefined;

  /** Serves a request whose connection the server has given up. */
  readonly upgrade = (request: IncomingMessage, socket: Duplex, head: Buffer, next?: () => void): void => {
    const own = this.running.current;
    const { path, route } = located(request, own.parts);
    const upgrade = this.#upgradeOf(request, path);
    if (!route && !upgrade && next) return next();
    const response = responseOn(request, socket);
    if (!upgrade) return this.#serve(own, request, response, path, route, bodyFault(request));
    const { log, clock, metrics } = this.#lasting;
    const exchange = startExchange(request, response, {
      endpoint: { ...(route ?? own.parts.routes.unknown(path)), generates: false },
      path,
      route: path,
      log,
      clock,
      trust_proxy: own.parts.settings.server.trust_proxy,
    });
    metrics.begun(exchange);
    const refused = this.isClosing ? refusalOf(exchange, route, true) : undefined;
    const switching = { socket, head, handler: this.handlerFor(request), upgrade };
    const prepared = new UpgradeExchange(own.parts, exchange, refused, request, response, switching);
    own.exchanges.start(new ExchangeRun(own.runnerParts, prepared));
  };

  #upgradeOf(request: IncomingMessage, path: string) {
    return isWebSocket(request) ? this.extensions?.upgradeAt(path) : undefined;
  }

  /** Calls `end` when the gateway closes. */
  onClosing(end: () => void): void {
    this.#closing.push(end);
  }

  markUnready(): void {
    if (this.#phase === 'serving') this.#phase = 'unready';
    // Open pages connect to another instance, or load again.
    this.extensions?.drain();
  }

  async close(drain_ms = this.parts.settings.server.drain_ms): Promise<void> {
    this.#phase = 'closing';
    for (const end of this.#closing) end();
    this.extensions?.drain();
    const abortRunning = () => {
      for (const { exchange } of this.running.runs()) exchange.abort('shutdown');
    };
    const abandonRunning = () => {
      for (const run of this.running.runs()) run.abandon();
    };
    const timers = [
      setTimeout(abortRunning, drain_ms),
      setTimeout(abandonRunning, drain_ms + closing_patience_ms),
    ];
    this.#closed ??= this.#drainAndClose();
    await this.#closed.finally(() => timers.forEach(clearTimeout));
  }

  async #drainAndClose(): Promise<void> {
    this.#unwatchEventLoop();
    const { state, ownsState, records } = this.#lasting;
    // Before the stores, which stages and extensions may still use.
    const users = await Promise.allSettled([this.running.close(), this.extensions?.close()]);
    // What the last exchanges report is with the ledger and in the log then.
    await setImmediate();
    const stores = await Promise.allSettled([ownsState && state.close(), records.close()]);
    await this.server.close();
    for (const end of [...users, ...stores]) if (end.status === 'rejected') throw end.reason;
  }

  #serve(
    own: RunningConfiguration,
    request: IncomingMessage,
    response: ServerResponse,
    path: string,
    route: Route | undefined,
    fault?: Error,
  ): void {
    const { log, clock, metrics } = this.#lasting;
    const exchange = startExchange(request, response, {
      endpoint: route ?? own.parts.routes.unknown(path),
      path,
      route: route && (route.pattern ?? path),
      log,
      clock,
      trust_proxy: own.parts.settings.server.trust_proxy,
    });
    metrics.begun(exchange);
    const refused = refusalOf(exchange, route, this.isClosing);
    const prepared = new GatewayExchange(own.parts, exchange, route, refused, request, response, fault);
    own.exchanges.start(new ExchangeRun(own.runnerParts, prepared));
  }
}
