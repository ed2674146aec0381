import type { OutgoingHttpHeaders } from 'node:http';
import { http } from '../../common/node-http.ts';
import { refusal } from '../exchange/errors.ts';
import type { Exchange } from '../exchange/exchange.ts';
import type { ReplySink } from './reply-sink.ts';

const { validateHeaderName, validateHeaderValue } = http;

/** Of a reply whose events the client is to get as they come: compression and proxies would hold them back. */
export const eventStreamHeaders = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
};

/**
 * Writes the head of a reply: the one place where every reply gets its headers. Those of stages replace `own`, and `last` replaces all. Throws for a
 * header of a stage that cannot be sent: then nothing has been.
 */
export function writeHead(
  exchange: Exchange,
  response: ReplySink,
  status: number,
  own: OutgoingHttpHeaders,
  last?: OutgoingHttpHeaders,
): void {
  try {
    response.writeHead(status, { ...own, 'x-request-id': exchange.id, ...exchange.replyHeaders, ...last });
  } catch (thrown) {
    throw headFault(exchange, thrown);
  }
}

/**
 * The error to throw for a head that could not be written: names the reply headers of stages that are why, and takes them from the
 * exchange, so that the error itself can be sent. `thrown` if it has another cause.
 */
export function headFault({ replyHeaders }: Exchange, thrown: unknown): unknown {
  const names = Object.keys(replyHeaders).filter(name => !isSendable(name, replyHeaders[name]));
  if (names.length === 0) return thrown;
  for (const name of names) delete replyHeaders[name];
  const listed = names.map(name => JSON.stringify(name.slice(0, 100))).join(', ');
  const cause = new Error(`a stage has set a reply header that cannot be sent, ${listed}`, { cause: thrown });
  return refusal('server_error', { cause });
}

/** Those of `headers` that can be sent. */
export const sendable = (headers: OutgoingHttpHeaders = {}): OutgoingHttpHeaders =>
  Object.fromEntries(Object.entries(headers).filter(([name, value]) => isSendable(name, value)));

function isSendable(name: string, value: unknown): boolean {
  try {
    validateHeaderName(name);
    validateHeaderValue(name, value as string);
    return true;
  } catch {
    return false;
  }
}
