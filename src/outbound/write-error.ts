import type { GatewayError } from '../errors.ts';
import type { Exchange } from '../exchange.ts';
import type { ReplySink } from './reply-sink.ts';
import { writeJson } from './write-reply.ts';

/** The envelope of spec 2.6 with its status, for an exchange whose reply has not begun. */
export function writeError(exchange: Exchange, response: ReplySink, error: GatewayError): void {
  exchange.end.errorSent(error.type);
  writeJson(exchange, response, error.status, JSON.stringify(error.envelope()), error.headers);
}
