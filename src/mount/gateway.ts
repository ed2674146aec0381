import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Registry } from 'prom-client';
import type { Json } from '../common/json-object.ts';
import { type ConfigSource, loadConfig, type Settings } from '../config/load.ts';
import type { ConfigText } from '../config/read-config.ts';
import type { ErrorHandler, RequestHandler } from '../gateway/exchange/stage-plan.ts';
import type { ExtensionContext, Reloaded } from '../records/define-extension.ts';
import type { Log } from '../telemetry/log.ts';
import { warnOfLostSpans } from '../telemetry/tracing.ts';
import { type GatewayAccounts, gatewayAccounts } from './administration/gateway-accounts.ts';
import { type GatewayKeys, gatewayKeys } from './administration/gateway-keys.ts';
import { type GatewayProviders, gatewayProviders } from './administration/gateway-providers.ts';
import { type GatewayUsage, gatewayUsage } from './administration/gateway-usage.ts';
import { assemble, type Parts } from './assemble.ts';
import { ConfigReloads, stateOf } from './config-reloads.ts';
import { extensionContexts } from './extension-context.ts';
import { Extensions } from './extensions.ts';
import { checkGatewayOptions, type GatewayOptions } from './gateway-options.ts';
import { GatewayService } from './gateway-service.ts';
import { type GatewayProcess, withFixed } from './reload.ts';
import type { ServerStatus } from './server-status.ts';

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
  /** Accounts of the records store: makes, finds and changes them. */
  readonly accounts: GatewayAccounts;
  /** Keys of the records store: makes, finds and changes them. */
  readonly keys: GatewayKeys;
  /** What accounts have used, and what is left of their limits. */
  readonly usage: GatewayUsage;
  /** The providers, and what attempts find there now. */
  readonly providers: GatewayProviders;
  /** The handlers of an extension, to mount where they should be; each calls `next` where there is none. */
  extension(name: string): { readonly admin: RequestHandler; readonly public: RequestHandler };
  /**
   * For `app.use` behind the gateway, at the same path: answers errors of the application's body parser, such as `express.json()`, on the
   * gateway's paths as the gateway would have, a missing key before a broken body. All other errors go to `next`.
   */
  readonly errorHandler: ErrorHandler;
  /**
   * For `server.on('upgrade', gateway.upgrade)`: switches a connection to WebSocket where that is offered, and answers all other requests on
   * it, so that none is left open. With `next` only those on its own paths, as the handler does.
   */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer, next?: () => void): void;
  /**
   * Whether `upgrade` may switch protocols for a request. As `shouldUpgradeCallback` of a server of `node:http` it lets all others be served as
   * if they had not asked for it, such as those of clients that offer HTTP/2.
   */
  upgrades(request: IncomingMessage): boolean;
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
   * Refuses new requests at once: it does not wait `server.unready_ms`. Lets running requests finish within `drain_ms`, by default
   * `server.drain_ms`, and then ends them with an error. Writes the ledger, and closes the gateway's connections to providers and stores;
   * the application's server stays open. A later call shortens the remaining time: `close(0)`, at a second signal, ends at once what is
   * running. Stages that do not settle then get 2 s more. Rejects if ledger rows could only be logged, or a part could not be closed.
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
  readonly extensions: Extensions;
}

/** The same as `createGateway`, in one of several processes, which may depend on the settings. */
export async function openGateway(
  source: ConfigSource | ConfigText,
  given: GatewayOptions,
  processOf: (settings: Settings) => GatewayProcess | Promise<GatewayProcess> = () => ({}),
): Promise<OpenedGateway> {
  const state = stateOf(source);
  const loaded = await loadConfig(source, process.env, given);
  const others = await processOf(loaded);
  const settings = others.fixed ? withFixed(loaded, others.fixed, 'worker').settings : loaded;
  const own = new OwnRequests();
  const options = own.without(given);
  const parts = await assemble(settings, options, others);
  await parts.state.started?.();
  for (const warning of warningsOf(parts, options, others)) parts.log.warn(warning);
  warnOfLostSpans(parts.log);
  const service = new GatewayService(parts, others);
  const optionsOf = (section?: string): unknown =>
    section === undefined ? {} : (service.parts.settings as unknown as Json)[section];
  const reload = () => reloads.reload();
  const contextOf = extensionContexts(service, options, { handler: own.marked(service.handle), reload });
  const extensions = await Extensions.open(settings.extensions, contextOf, optionsOf).catch(async thrown => {
    await service.close(0);
    throw thrown;
  });
  service.extensions = extensions;
  service.handlerFor = upgraded => own.marked(service.handle, upgraded);
  const onReplaced = () => extensions.configure(optionsOf);
  const { running } = service;
  const reloads = new ConfigReloads({ source, state, options, process: others, running, onReplaced });
  service.onClosing(() => reloads.close());
  reloads.follow();
  const gateway = gatewayOf(service, extensions, reloads, contextOf('app'));
  return { gateway, server: service.server, extensions };
}

/** What is said once at the start; of a worker the primary has said it. */
function* warningsOf(
  { settings }: Parts,
  { state }: GatewayOptions,
  { primary }: GatewayProcess,
): Generator<string> {
  if (!primary) yield* settings.warnings;
  if (state && settings.stores.state !== 'memory')
    yield 'stores.state: has no effect: the option state of createGateway is used in its place';
}

/** The handler of a service with its methods. */
function gatewayOf(
  service: GatewayService,
  extensions: Extensions,
  reloads: ConfigReloads,
  context: ExtensionContext,
): Gateway {
  const extension: Gateway['extension'] = name => ({
    admin: extensions.handlerOf(name, 'admin'),
    public: extensions.handlerOf(name, 'public'),
  });
  const { metrics, log } = service.parts;
  return Object.defineProperties(service.handle.bind(service), {
    settings: { get: () => service.parts.settings },
    registry: { value: metrics.registry },
    log: { value: log },
    ready: { get: () => service.isReady },
    draining: { get: () => service.isDraining },
    conditions: { get: () => service.conditions },
    inFlight: { get: () => service.running.inFlight },
    errorHandler: { value: service.handleError },
    dashboard: { value: extension('dashboard').admin },
    portal: { value: extension('dashboard').public },
    accounts: { value: gatewayAccounts(context) },
    keys: { value: gatewayKeys(context) },
    usage: { value: gatewayUsage(context) },
    providers: { value: gatewayProviders(context) },
    extension: { value: extension },
    upgrade: { value: service.upgrade },
    upgrades: { value: service.upgrades },
    reload: { value: (source?: ConfigSource) => reloads.reload(source) },
    markUnready: { value: () => service.markUnready() },
    close: { value: (drain_ms?: number) => service.close(drain_ms) },
  }) as Gateway;
}

/** Requests that extensions make to the gateway: they have not passed the application's middleware, and come with a key. */
class OwnRequests {
  /** With the requests that have switched protocols, and over whose connections they came. */
  readonly #requests = new WeakMap<IncomingMessage, IncomingMessage | undefined>();

  /** The options, with an `accountOf` that is asked about none of these requests, but about that which has switched protocols for one. */
  without(options: GatewayOptions): GatewayOptions {
    const { accountOf } = options;
    const asked: GatewayOptions['accountOf'] = request => {
      if (!this.#requests.has(request)) return accountOf!(request);
      const upgraded = this.#requests.get(request);
      return upgraded && accountOf!(upgraded);
    };
    return { ...options, accountOf: accountOf && asked };
  }

  /** The handler for these requests. */
  marked(handler: RequestHandler, upgraded?: IncomingMessage): RequestHandler {
    return (request, response, next) => {
      this.#requests.set(request, upgraded);
      handler(request, response, next);
    };
  }
}
