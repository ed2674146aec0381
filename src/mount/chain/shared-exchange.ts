import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Clock } from '../../common/clock.ts';
import type { GatewayError } from '../../gateway/exchange/errors.ts';
import type { Exchange } from '../../gateway/exchange/exchange.ts';
import {
  type Located,
  pathOf,
  type Routes,
  routeFault,
  unknownEndpoint,
} from '../../gateway/inbound/routes.ts';
import { startExchange } from '../../gateway/inbound/start-exchange.ts';
import type { Log } from '../../telemetry/log.ts';
import type { Metrics } from '../../telemetry/metrics.ts';

/** A request in Express, with its whole target and the path at which the chain is mounted. */
export type Incoming = IncomingMessage & { originalUrl?: string; readonly baseUrl?: string };

/** The exchange that all chains of a request share, so that a later chain sees the account found by an earlier one. */
export interface SharedExchange {
  readonly exchange: Exchange;
  /** Chains that the request has reached. The first settles the exchange. */
  chains: number;
  /** Chains whose stages have not been told of its end. */
  unsettled: number;
  /** Metrics of the first chain that has any; they count the exchange, once. */
  metrics: Metrics | undefined;
  /** A reply that is read on after its client has had an answer; no chain settles the exchange before it ends. */
  pending: Promise<unknown> | undefined;
}

const requests = new WeakMap<IncomingMessage, SharedExchange>();

/** Whether the request has reached a chain. */
export const isShared = (request: IncomingMessage): boolean => requests.has(request);

/** What a chain gives to the exchanges that begin in it. */
export interface ChainSurroundings {
  readonly log: Log;
  readonly clock: Clock;
  /** The chain's metrics, if there is a registry for them. */
  readonly measured: Metrics | undefined;
}

/** The shared exchange of `request`, created in its first chain. */
export function sharedExchangeOf(
  request: Incoming,
  response: ServerResponse,
  located: Located,
  { log, clock, measured }: ChainSurroundings,
): SharedExchange {
  let shared = requests.get(request);
  if (!shared) {
    const path = pathOf(targetOf(request));
    const endpoint = located.route ?? unknownEndpoint;
    // Without the mount path, which may have parameters: spans are named by it.
    const route = located.route && (located.route.pattern ?? located.path);
    const start = { endpoint, path, route, log, clock, trust_proxy: false };
    const exchange = startExchange(request, response, start);
    requests.set(
      request,
      (shared = { exchange, chains: 0, unsettled: 0, metrics: undefined, pending: undefined }),
    );
  }
  shared.chains++;
  shared.unsettled++;
  if (measured && !shared.metrics) {
    shared.metrics = measured;
    measured.begun(shared.exchange);
  }
  return shared;
}

/**
 * Path of a request below its chain's mount path, and its route if its method is offered there; anything else is for the handler, and needs a
 * key. With `terminal`, the route whatever the method, and the error for a path below `/v1` that the chain does not have, or not with this
 * method.
 */
export function locatedIn(
  request: Incoming,
  {
    routes,
    options: { terminal },
  }: { readonly routes: Routes; readonly options: { readonly terminal: boolean } },
): Located & { readonly fault?: GatewayError | undefined } {
  const { method = '', baseUrl: mount = '' } = request;
  const whole = pathOf(targetOf(request));
  const { path, route } = routes.mounted(whole, mount) ?? {
    path: belowMount(whole, mount),
    route: undefined,
  };
  if (terminal && (route || /^\/v1(?:\/|$)/.test(path)))
    return { path, route, fault: routeFault(method, path, route, request.headers.upgrade) };
  return { path, route: route?.methods.includes(method) ? route : undefined };
}

/** The part of a path from `/v1` on, if only the mount path or a part of it is before that. */
function belowMount(path: string, mount: string): string {
  const at = path.search(/\/v1(?:\/|$)/);
  return at !== -1 && mount.startsWith(path.slice(0, at)) ? path.slice(at) : path;
}

const targetOf = ({ originalUrl, url }: Incoming): string => originalUrl ?? url ?? '/';
