import type { IncomingMessage, ServerResponse } from 'node:http';
import { systemClock } from '../clock.ts';
import { type Endpoint, Exchange } from '../exchange.ts';
import { requestIdOf } from '../inbound/request-id.ts';
import { pathOf, type Route, type Routes } from '../inbound/routes.ts';
import { watchClient } from '../inbound/watch-client.ts';
import type { Log } from '../telemetry/log.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { startServerSpan } from '../telemetry/tracing.ts';

/** A request as Express hands it on: with its whole target, and the part of it at which the chain is mounted. */
export type Incoming = IncomingMessage & { originalUrl?: string; readonly baseUrl?: string };

/** A request in one of the chains that it passes through. */
export interface SharedExchange {
  /** The same in all of them, so that a later chain sees the account that an earlier one found. */
  readonly exchange: Exchange;
  /** No chain has had it before; this one settles it. */
  readonly isFirst: boolean;
  /** Of the first chain that measures: there the exchange is counted, once. */
  metrics(): Metrics | undefined;
  /** The reply is read on after its client has had an answer: no chain settles the exchange before `pending` is over. */
  readOn(pending: Promise<unknown>): void;
  /** Calls `act` at once, or when a reply that is read on is over. */
  whenRead(act: () => void): void;
}

interface Shared {
  readonly exchange: Exchange;
  metrics: Metrics | undefined;
  /** What is read on. */
  pending: Promise<unknown> | undefined;
}

const requests = new WeakMap<IncomingMessage, Shared>();

/** The visit of `request`, whose exchange begins with the first one. `measured` are the metrics of the chain, if it has any. */
export function sharedExchangeOf(
  request: Incoming,
  response: ServerResponse,
  endpoint: Endpoint,
  log: Log,
  measured: Metrics | undefined,
): SharedExchange {
  const known = requests.get(request);
  const shared: Shared = known ?? {
    exchange: begin(request, endpoint, log),
    metrics: undefined,
    pending: undefined,
  };
  if (!known) {
    requests.set(request, shared);
    watchClient(shared.exchange, response);
  }
  if (measured && !shared.metrics) {
    shared.metrics = measured;
    measured.begun(shared.exchange);
  }
  return {
    exchange: shared.exchange,
    isFirst: !known,
    metrics: () => shared.metrics,
    readOn(pending) {
      shared.pending = pending;
    },
    whenRead(act) {
      if (shared.pending) shared.pending.then(act, act);
      else act();
    },
  };
}

/** The route of a request if its method is offered there; anything else is the handler's, and needs a key. */
export function routeFor(request: Incoming, routes: Routes): Route | undefined {
  const route = routes.mounted(pathOf(targetOf(request)), request.baseUrl ?? '');
  return route?.methods.includes(request.method ?? '') ? route : undefined;
}

const targetOf = ({ originalUrl, url }: Incoming): string => originalUrl ?? url ?? '/';

function begin(request: Incoming, endpoint: Endpoint, log: Log): Exchange {
  const { method = 'GET', headers } = request;
  const [id, path] = [requestIdOf(headers), pathOf(targetOf(request))];
  return new Exchange({
    id,
    endpoint,
    method,
    path,
    headers,
    log,
    clock: systemClock,
    span: startServerSpan(
      { id, method, path, route: endpoint.name === 'unknown' ? undefined : path },
      headers,
    ),
  });
}
