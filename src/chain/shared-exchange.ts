import type { IncomingMessage, ServerResponse } from 'node:http';
import { systemClock } from '../clock.ts';
import type { Endpoint } from '../exchange/exchange-view.ts';
import { Exchange } from '../exchange.ts';
import { requestIdOf } from '../inbound/request-id.ts';
import { pathOf, type Route, type Routes } from '../inbound/routes.ts';
import { watchClient } from '../inbound/watch-client.ts';
import type { Log } from '../telemetry/log.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { startServerSpan } from '../telemetry/tracing.ts';

/** A request as Express hands it on: with its whole target, and the part of it at which the chain is mounted. */
export type Incoming = IncomingMessage & { originalUrl?: string; readonly baseUrl?: string };

/** The exchange of a request, the same in all chains that it passes through, so that a later one sees the account that an earlier one found. */
export interface SharedExchange {
  readonly exchange: Exchange;
  /** How many chains the request has reached. The first settles the exchange. */
  chains: number;
  /** Of the first chain that measures: there the exchange is counted, once. */
  metrics: Metrics | undefined;
  /** A reply that is read on after its client has had an answer: no chain settles the exchange before it is over. */
  pending: Promise<unknown> | undefined;
}

const requests = new WeakMap<IncomingMessage, SharedExchange>();

/** The exchange of `request`, which begins in its first chain. `measured` are the metrics of this chain, if it has any. */
export function sharedExchangeOf(
  request: Incoming,
  response: ServerResponse,
  endpoint: Endpoint,
  log: Log,
  measured: Metrics | undefined,
): SharedExchange {
  let shared = requests.get(request);
  if (!shared) {
    const exchange = begin(request, endpoint, log);
    requests.set(request, (shared = { exchange, chains: 0, metrics: undefined, pending: undefined }));
    watchClient(exchange, response);
  }
  shared.chains++;
  if (measured && !shared.metrics) {
    shared.metrics = measured;
    measured.begun(shared.exchange);
  }
  return shared;
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
