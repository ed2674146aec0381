import type { GatewayError } from '../errors.ts';
import type { Exchange } from '../exchange.ts';

/**
 * Logs the error that a client gets, with the cause, which the client never sees: faults of this gateway and its configuration at `error`,
 * of providers at `warn`, refusals of clients at `debug`. `origin` is added to the line: the stage and hook that threw.
 */
export function logError(exchange: Exchange, error: GatewayError, origin?: object): void {
  const { status, type, code, cause } = error;
  // Overload and shutdown are no faults.
  const isMeant = exchange.end_reason === 'refused' || exchange.end_reason === 'shutdown';
  const isOurs = (type === 'server_error' && !isMeant) || type === 'configuration_error';
  const level = isOurs ? 'error' : status >= 500 ? 'warn' : 'debug';
  const [model, account] = [exchange.model?.id, exchange.account?.id];
  const why = typeof cause === 'string' ? { reason: cause } : { err: cause };
  exchange.log[level]({ status, type, code, model, account, ...origin, ...why }, error.message);
}
