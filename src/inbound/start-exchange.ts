import type { IncomingMessage, ServerResponse } from 'node:http';
import { Exchange, type ExchangeStart } from '../exchange.ts';
import { startServerSpan } from '../telemetry/server-span.ts';
import { requestIdOf } from './request-id.ts';
import { pathOf } from './routes.ts';

type Start = Pick<ExchangeStart, 'endpoint' | 'path' | 'log' | 'clock'> & {
  /** The path as its span shows it; undefined for one that is not offered. */
  readonly route: string | undefined;
};

/** Begins the exchange of a request whose headers have arrived, and reports to it when its client leaves or another handler answers. */
export function startExchange(
  incoming: IncomingMessage,
  response: ServerResponse,
  { endpoint, path, log, clock, route }: Start,
): Exchange {
  const { method = 'GET', headers } = incoming;
  const id = requestIdOf(headers);
  const span = startServerSpan({ id, method, url_path: pathOf(targetOf(incoming)), route }, incoming);
  const exchange = new Exchange({ id, endpoint, method, path, headers, incoming, log, clock, span });
  const { request_id } = endpoint.headers ?? {};
  if (request_id !== undefined) exchange.replyHeaders[request_id] = id;
  // Watches the response: a request already closes once its body has been read.
  response.once('close', () => {
    if (!response.writableEnded || !exchange.end.reply_ended) exchange.clientLeft();
  });
  // While the application was busy with the request, such as looking up a session; nothing would tell that later.
  if (incoming.socket.destroyed) exchange.clientLeft();
  // Another handler may end the response before a write; without a listener that error would end the process.
  response.on('error', error => exchange.log.debug({ err: error }, 'the response could not be written'));
  return exchange;
}

/** The request target as the client sent it: frameworks take the mount path from `url`. */
const targetOf = ({
  originalUrl,
  url = '/',
}: IncomingMessage & { readonly originalUrl?: unknown }): string =>
  typeof originalUrl === 'string' ? originalUrl : url;
