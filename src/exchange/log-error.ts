import type { GatewayError } from '../errors.ts';
import type { Exchange } from '../exchange.ts';
import { textWithoutPrompt, withoutPrompt } from './prompt-filter.ts';

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
  if (level === 'debug' && !exchange.isLogged('debug')) return;
  const [model, account] = [exchange.model?.id, exchange.account?.id];
  const told = withoutPrompt(exchange, cause);
  const why = typeof told === 'string' ? { reason: told } : { err: told };
  const message = textWithoutPrompt(exchange, error.message);
  exchange.log[level]({ status, type, code, model, account, ...origin, ...why }, message);
}
