import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Registry } from 'prom-client';
import { SignInMemory } from '../../plugins/dashboard/access/sign-in-memory.ts';
import { GatewayCalls } from '../../plugins/dashboard/gateway-calls.ts';
import { GatewaySites } from '../../plugins/dashboard/gateway-sites.ts';
import { LiveStreams } from '../../plugins/dashboard/live-streams.ts';
import type { DashboardContext } from '../../plugins/dashboard/page-request.ts';
import type { Outage } from '../common/outage.ts';
import { type ConfigSource, loadConfig, type Settings } from '../config/load.ts';
import type { ConfigText } from '../config/read-config.ts';
import { ExchangeRun } from '../gateway/exchange/runner.ts';
import type { ErrorHandler, RequestHandler } from '../gateway/exchange/stage-plan.ts';
import { parserFault } from '../gateway/inbound/parser-fault.ts';
import { formatOf, type Route } from '../gateway/inbound/routes.ts';
import { startExchange } from '../gateway/inbound/start-exchange.ts';
import { closing_patience_ms } from '../gateway/outbound/reply-limits.ts';
import { watchEventLoop } from '../telemetry/event-loop-delay.ts';
import type { Log } from '../telemetry/log.ts';
import { warnOfLostSpans } from '../telemetry/tracing.ts';
import { assemble, type Parts } from './assemble.ts';
import { ConfigReloads, stateOf } from './config-reloads.ts';
import { GatewayExchange, located, refusalOf } from './gateway-exchange.ts';
import { checkGatewayOptions, type GatewayOptions } from './gateway-options.ts';
import type { GatewayProcess } from './gateway-process.ts';
import { isPassthrough } from './passthrough/passthrough.ts';
import { type Reloaded, withFixed } from './reload.ts';
import { type RunningConfiguration, RunningConfigurations } from './running-configuration.ts';
import { ServerStatus } from './server-status.ts';

/**
 * Serves the interface, with the methods to operate it: a handler of Express and Connect, and a listener of `node:http`. Paths that are not
 * its own go to `next`; without one they are answered 404.
 */
export type Gateway = {
  (request: IncomingMessage, response: ServerResponse, next?: (error?: unknown) => void): void;
  /** The checked configuration that is in use; its form may change with any version. */
  readonly settings: Settings;
  /** The metrics: `registry.metrics()` is what Prometheus reads. */
  readonly registry: Registry;
  /** The gateway's log. */
  readonly log: Log;
  /** False once `markUnready` or `close` was called, and while the state store is down and its policy rejects all requests. */
  readonly ready: boolean;
  /** True once `markUnready` or `close` was called. */
  readonly draining: boolean;
  /** Further conditions for operators, one per line: a store that is down, ledger rows that wait, the shutdown of this gateway. */
  readonly conditions: readonly string[];
  /** Number of exchanges that have begun and are not settled. */
  readonly inFlight: number;
  /** The operators' dashboard, for `app.use('/ops', gateway.dashboard)`. Calls `next` if no way to sign in is configured. */
  readonly dashboard: RequestHandler;
  /**
   * The customers' portal, for `app.use('/portal', gateway.portal)`: `portal.path` of the configuration must be the same path. Calls `next`
   * unless `portal.enabled` is true.
   */
  readonly portal: RequestHandler;
  /**
   * For `app.use` behind the gateway, at the same path: answers errors of the application's body parser, such as `express.json()`, on the
   * gateway's paths as the gateway would have, a missing key before a broken body. All other errors go to `next`.
   */
  readonly errorHandler: ErrorHandler;
  /**
   * Serves another configuration from the next request on, without an interruption: exchanges that run end under the one that they began
   * with. `source` is an object, or the path of a file; by default it is what the gateway was created from. Rejects with a ConfigError that
   * lists every mistake if it cannot be used; the one before it serves on then. Options of `createGateway` stay as they were given. Calls
   * that come during a reload wait for it. Rejects once `close` was called.
   */
  reload(source?: ConfigSource): Promise<Reloaded>;
  /** Makes `ready` false and continues to serve, so that load balancers can notice before `close`. */
  markUnready(): void;
  /**
   * Refuses new exchanges, lets running ones finish within `drain_ms`, aborts the rest, writes the ledger, and closes all connections. A
   * later call shortens the remaining time: `close(0)` aborts all that is running. Stages that do not settle then get 2 s more. Rejects if
   * ledger rows could only be logged.
   */
  close(drain_ms?: number): Promise<void>;
};

/**
 * Creates the gateway as a handler for `app.use`. Throws a ConfigError that lists every mistake of the configuration, or an error that says
 * why the records store cannot be used.
 */
export async function createGateway<R extends IncomingMessage = IncomingMessage>(
  source: ConfigSource,
  given: GatewayOptions<R> = {},
): Promise<Gateway> {
  checkGatewayOptions(given, 'options of createGateway');
  return (await openGateway(source, given as GatewayOptions)).gateway;
}

/** A gateway in a server that may have several processes, with what operators see of all of them. */
export interface OpenedGateway {
  readonly gateway: Gateway;
  readonly server: ServerStatus;
}

/** The same as `createGateway`, in one of several processes, which may depend on the settings. */
export async function openGateway(
  source: ConfigSource | ConfigText,
  given: GatewayOptions,
  processOf: (settings: Settings) => GatewayProcess = () => ({}),
): Promise<OpenedGateway> {
  const state = stateOf(source);
  const loaded = await loadConfig(source, process.env, given);
  const others = processOf(loaded);
  const settings = others.fixed ? withFixed(loaded, others.fixed, 'worker').settings : loaded;
  // Requests of the dashboard's playground have not passed the application's middleware, and come with a key.
  const ownRequests = new WeakSet<IncomingMessage>();
  const { accountOf } = given;
  const options: GatewayOptions = {
    ...given,
    accountOf: accountOf && (request => (ownRequests.has(request) ? undefined : accountOf(request))),
  };
  const parts = await assemble(settings, options, others);
  await parts.state.started?.();
  warnOfLostSpans(parts.log);
  // The primary has said them.
  if (!others.primary) for (const warning of settings.warnings) parts.log.warn(warning);
  if (options.state && settings.stores.state !== 'memory')
    parts.log.warn('stores.state: has no effect: the option state of createGateway is used in its place');
  const unwatchEventLoop = watchEventLoop(parts.metrics.registry);
  const running = new RunningConfigurations(parts);
  let phase: 'serving' | 'unready' | 'closing' = 'serving';
  const isDraining = () => phase !== 'serving';

  const handler = (request: IncomingMessage, response: ServerResponse, next?: () => void): void => {
    // The whole exchange is of one configuration.
    const own = running.current;
    const { path, route } = located(request, own.parts);
    // Answered by the parent already.
    if (response.headersSent) return next?.();
    if (!route && !parts.terminal && next) return next();
    if (!route && parts.terminal && sites.servePortal(request, response)) return;
    serve(own, request, response, path, route);
  };

  const errorHandler: ErrorHandler = (error, request, response, next) => {
    const own = running.current;
    const { path, route } = located(request, own.parts);
    if (response.headersSent || (!route && !parts.terminal)) return next(error);
    const isJson = route !== undefined && !isPassthrough(route);
    const fault = parserFault(error, request, own.parts.settings.server, isJson);
    if (!fault) return next(error);
    // A reply from the catalog needs no body.
    const needsBody = formatOf(route) !== undefined || !isJson;
    serve(own, request, response, path, route, needsBody ? fault : undefined);
  };

  const serve = (
    own: RunningConfiguration,
    request: IncomingMessage,
    response: ServerResponse,
    path: string,
    route: Route | undefined,
    fault?: Error,
  ): void => {
    const { log, clock } = parts;
    const exchange = startExchange(request, response, {
      endpoint: route ?? own.parts.routes.unknown(path),
      path,
      route: route && (route.pattern ?? path),
      log,
      clock,
      trust_proxy: own.parts.settings.server.trust_proxy,
    });
    parts.metrics.begun(exchange);
    const refused = refusalOf(exchange, route, phase === 'closing');
    const prepared = new GatewayExchange(own.parts, exchange, route, refused, request, response, fault);
    own.exchanges.start(new ExchangeRun(own.runnerParts, prepared));
  };

  const live = new LiveStreams();
  const markUnready = () => {
    if (phase === 'serving') phase = 'unready';
    // Open pages connect to another instance, or load again.
    live.close();
  };
  const abortRunning = () => {
    for (const { exchange } of running.runs()) exchange.abort('shutdown');
  };
  const abandonRunning = () => {
    for (const run of running.runs()) run.abandon();
  };
  const drainAndClose = async (): Promise<void> => {
    unwatchEventLoop();
    // Before the stores, which stages may still use.
    const configurations = await Promise.allSettled([running.close()]);
    const stores = await Promise.allSettled([parts.ownsState && parts.state.close(), parts.records.close()]);
    await server.close();
    for (const end of [...configurations, ...stores]) if (end.status === 'rejected') throw end.reason;
  };
  let closed: Promise<void> | undefined;
  const close = async (drain_ms = running.current.parts.settings.server.drain_ms): Promise<void> => {
    phase = 'closing';
    reloads.close();
    live.close();
    const timers = [
      setTimeout(abortRunning, drain_ms),
      setTimeout(abandonRunning, drain_ms + closing_patience_ms),
    ];
    closed ??= drainAndClose();
    await closed.finally(() => timers.forEach(clearTimeout));
  };

  const isReady = () => !isDraining() && !parts.state.outage?.refuses;
  const server = new ServerStatus(
    () => ({
      in_flight: running.inFlight,
      ready: isReady(),
      conditions: conditionsOf(isDraining(), parts),
      providers: running.current.parts.providers,
    }),
    parts.metrics.registry,
    others,
  );
  const { clock } = parts;
  const context: DashboardContext = followed(() => running.current.parts, {
    server,
    calls: new GatewayCalls((request, response, next) => {
      ownRequests.add(request);
      handler(request, response, next);
    }),
    live,
    signIns: { dashboard: new SignInMemory(clock), portal: new SignInMemory(clock) },
    publicUrl: () => running.current.parts.settings.server.public_url ?? options.publicUrl?.(),
  });
  const sites = new GatewaySites(context, options.operatorOf, () => phase === 'closing');
  const onReplaced = () => sites.configure();
  const reloads = new ConfigReloads({ source, state, options, process: others, running, onReplaced });
  reloads.follow();
  const gateway = Object.defineProperties(handler, {
    settings: { get: () => running.current.parts.settings },
    registry: { value: parts.metrics.registry },
    log: { value: parts.log },
    ready: { get: isReady },
    draining: { get: isDraining },
    conditions: { get: () => conditionsOf(isDraining(), parts) },
    inFlight: { get: () => running.inFlight },
    errorHandler: { value: errorHandler },
    dashboard: { value: sites.dashboard },
    portal: { value: sites.portal },
    reload: { value: (source?: ConfigSource) => reloads.reload(source) },
    markUnready: { value: markUnready },
    close: { value: close },
  }) as Gateway;
  return { gateway, server };
}

function conditionsOf(draining: boolean, { state, records, clock }: Parts): string[] {
  const told = (store: string, outage: Outage | undefined, meanwhile: string) => {
    if (!outage) return [];
    const out_s = Math.round((clock.epoch_ms() - outage.since_epoch_ms) / 1000);
    const why = outage.cause instanceof Error ? outage.cause.message : String(outage.cause);
    return [`the ${store} store has been down for ${out_s} s, ${meanwhile}: ${why}`];
  };
  return [
    ...(draining ? ['shutting down'] : []),
    ...told('state', state.outage, 'on_state_store_down holds'),
    ...told('records', records.outage, 'cached keys keep working for key_cache_ttl_ms'),
    ...records.ledger.conditions,
  ];
}

/** `more`, with the parts as they are when they are asked for. */
function followed<More extends object>(current: () => Parts, more: More): Parts & More {
  const followed = { ...current(), ...more };
  for (const name of Object.keys(current()) as (keyof Parts)[])
    Object.defineProperty(followed, name, { get: () => current()[name], enumerable: true });
  return followed;
}
