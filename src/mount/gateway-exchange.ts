import type { IncomingMessage, ServerResponse } from 'node:http';
import type { CatalogAnswers, RequestFormat } from '../gateway/dialects/define-dialect.ts';
import { type GatewayError, refusal } from '../gateway/exchange/errors.ts';
import type { Exchange } from '../gateway/exchange/exchange.ts';
import type { Outcome } from '../gateway/exchange/exchange-view.ts';
import type { ReplySource } from '../gateway/exchange/reply-source.ts';
import type { PreparedExchange } from '../gateway/exchange/runner.ts';
import { formatOf, type Located, pathOf, type Route, routeFault } from '../gateway/inbound/routes.ts';
import { identityOf } from '../gateway/outbound/reply-shape.ts';
import { endServerSpan, settle } from '../gateway/settlement/settle.ts';
import type { Fallback } from '../gateway/upstream/attempt/attempts.ts';
import type { Parts } from './assemble.ts';
import { detach } from './detached-reply.ts';
import { writeDialectAnswer } from './dialect-answer.ts';
import { fallbackModels } from './fallback/fallback-models.ts';
import { withLateModel } from './fallback/late-renderer.ts';
import { isPassthrough } from './passthrough/passthrough.ts';

/** A request to a gateway, whose reply comes from a provider or from the catalog. */
export class GatewayExchange implements PreparedExchange {
  readonly exchange: Exchange;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly refusal: GatewayError | undefined;
  readonly parserFault: Error | undefined;
  format: RequestFormat | undefined;
  readonly isInner = false;
  readonly #parts: Parts;
  readonly #route: Route | undefined;

  constructor(
    parts: Parts,
    exchange: Exchange,
    route: Route | undefined,
    refused: GatewayError | undefined,
    request: IncomingMessage,
    response: ServerResponse,
    fault: Error | undefined,
  ) {
    this.#parts = parts;
    this.exchange = exchange;
    this.#route = route;
    this.request = request;
    this.response = response;
    this.refusal = refused;
    this.parserFault = fault;
    this.format = formatOf(route);
  }

  source(): ReplySource | undefined | Promise<ReplySource> {
    const { format, exchange } = this;
    if (!format) return undefined;
    const { router, settings } = this.#parts;
    const fallback = exchange.model?.fallbacks && this.#fallback(format);
    const detaching =
      'detach' in format && format.detach?.(identityOf(exchange), why => this.#endDetached(why));
    if (!detaching) return router.attempts(exchange, fallback);
    return detaching.then(detached =>
      detach(this, router.attempts(exchange, fallback), detached, settings.server),
    );
  }

  #fallback(format: RequestFormat): Fallback {
    if ('renderStream' in format) this.format = withLateModel(format, this.exchange);
    return fallbackModels(this.exchange, format, this.#parts);
  }

  #endDetached(why: 'client_gone' | 'time_limit'): void {
    if (why === 'client_gone') this.exchange.clientLeft();
    else this.exchange.abort(why);
  }

  pass(): void | Promise<void> {
    const { exchange, request, response } = this;
    const route = this.#route!;
    if (isPassthrough(route)) return this.#parts.passthrough.send(exchange, route, request, response);
    const { settings, buffered } = this.#parts;
    const bounds = { limits: settings.server, buffered };
    return writeDialectAnswer(route.dialect as CatalogAnswers, this, exchange.path, bounds);
  }

  settle(): Outcome {
    return settle(this.exchange, this.#parts.reports);
  }

  endSpan(): void {
    endServerSpan(this.exchange);
  }
}

interface Mounted extends IncomingMessage {
  readonly baseUrl?: string;
}

/**
 * Path and route of a request. Express strips the mount path: mounted at `/v1`, the rest alone would match no route, so that the last
 * part of the mount path is tried as the beginning of the path.
 */
export function located({ url = '/', baseUrl = '' }: Mounted, { routes, passthrough }: Parts): Located {
  const rest = pathOf(url);
  if (baseUrl === '') return { path: rest, route: routes.of(rest) ?? passthrough.routeOf(rest) };
  const routeOf = (path: string) => routes.of(path) ?? passthrough.routeOf(path);
  const below = baseUrl.slice(baseUrl.lastIndexOf('/')) + rest;
  const route = routeOf(below);
  const isBelow = route !== undefined || baseUrl.endsWith('/v1');
  return isBelow ? { path: below, route } : { path: rest, route: routeOf(rest) };
}

/** Error for requests that are refused before the chain: unknown paths and methods, and all requests while closing. */
export function refusalOf(
  { method, path, headers, end }: Exchange,
  route: Route | undefined,
  isClosing: boolean,
) {
  if (isClosing) {
    end.causedBy('shutdown');
    return refusal('server_error', { headers: { connection: 'close' } });
  }
  return routeFault(method, path, route, headers.upgrade);
}
