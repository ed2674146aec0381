import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { randomId } from '../../common/ids.ts';
import { startServerSpan } from '../../telemetry/server-span.ts';
import { Exchange, type ExchangeStart } from '../exchange/exchange.ts';
import { pathOf } from './routes.ts';

type Start = Pick<ExchangeStart, 'endpoint' | 'path' | 'log' | 'clock'> & {
  /** Whether the last `X-Forwarded-For` is the client's address. */
  readonly trust_proxy: boolean;
  /** The path as its span shows it; undefined for one that is not offered. */
  readonly route: string | undefined;
};

/** Begins the exchange of a request whose headers have arrived, and reports to it when its client leaves or another handler answers. */
export function startExchange(
  incoming: IncomingMessage,
  response: ServerResponse,
  { endpoint, path, log, clock, route, trust_proxy }: Start,
): Exchange {
  const { method = 'GET', headers } = incoming;
  const id = requestIdOf(headers);
  const span = startServerSpan({ id, method, url_path: pathOf(targetOf(incoming)), route }, incoming);
  // Now, because a closed connection has none.
  const client_address = ipOf(incoming) ?? addressOf(incoming, trust_proxy);
  const start = { id, endpoint, method, path, headers, incoming, client_address, log, clock, span };
  const exchange = new Exchange(start);
  const { request_id } = endpoint.headers ?? {};
  if (request_id !== undefined) exchange.replyHeaders[request_id] = id;
  // Watches the response: a request already closes once its body has been read.
  response.on('close', () => {
    if (exchange.isDetached) return;
    if (!response.writableEnded || !exchange.end.reply_ended) exchange.clientLeft();
  });
  // While the application was busy with the request, such as looking up a session; nothing would tell that later.
  if (incoming.socket.destroyed) exchange.clientLeft();
  // Another handler may end the response before a write; without a listener that error would end the process.
  response.on('error', error => exchange.log.debug({ err: error }, 'the response could not be written'));
  return exchange;
}

/** The client's address as Express or Fastify tell it, by what they are told of proxies. */
const ipOf = ({ ip }: IncomingMessage & { readonly ip?: unknown }): string | undefined =>
  typeof ip === 'string' ? ip.slice(0, 64) : undefined;

/** The request target as the client sent it: frameworks take the mount path from `url`. */
const targetOf = ({
  originalUrl,
  url = '/',
}: IncomingMessage & { readonly originalUrl?: unknown }): string =>
  typeof originalUrl === 'string' ? originalUrl : url;

/** The caller's request id if it is valid, else a new one. */
export function requestIdOf(headers: IncomingHttpHeaders): string {
  const given = headers['x-request-id'];
  return typeof given === 'string' && /^[\w.:-]{1,128}$/.test(given) ? given : `req_${randomId()}`;
}

/** The client's network address; that of a proxy which is not trusted. At most 64 characters. */
export function addressOf(request: IncomingMessage, trust_proxy: boolean): string {
  const forwarded = trust_proxy ? lastOf(request, 'x-forwarded-for') : undefined;
  return (forwarded ?? request.socket.remoteAddress ?? '').slice(0, 64);
}

/** Last value of a header: the one that the nearest proxy has added. */
export function lastOf({ headers }: IncomingMessage, name: string): string | undefined {
  return [headers[name]].flat().join(',').split(',').at(-1)?.trim() || undefined;
}
