import type { GatewayError } from '../errors.ts';
import type { Exchange } from '../exchange.ts';

/**
 * Logs the error that a client gets, with the cause, which the client never sees: faults of this gateway and its configuration at `error`,
 * of providers at `warn`, refusals of clients at `debug`. `origin` is added to the line: the stage and hook that threw.
 */
export function logError(exchange: Exchange, error: GatewayError, origin?: object): void {
  const { status, type, code, cause } = error;
  const isOverload = exchange.end_reason === 'refused';
  const isOurs = (type === 'server_error' && !isOverload) || type === 'configuration_error';
  const level = isOurs ? 'error' : status >= 500 ? 'warn' : 'debug';
  const [model, account] = [exchange.model?.id, exchange.account?.id];
  exchange.log[level]({ status, type, code, model, account, ...origin, err: cause }, error.message);
}
