import { boundedFields } from '../../telemetry/bounded-fields.ts';
import type { ThrottledLog } from '../../telemetry/throttled-log.ts';
import { GatewayError } from './errors.ts';
import type { Exchange } from './exchange.ts';
import { textWithoutPrompt, withoutPrompt } from './prompt-filter.ts';

/** Who sent a request, in the log: what tells a leaked key from its owner's use. */
export const originOf = ({ account, client_address }: Exchange) => ({
  key_id: account?.key_id,
  client_address: client_address || undefined,
});

/**
 * Logs the error that a client gets, with the cause, which the client never sees: faults of this gateway and its configuration at `error`,
 * of providers at `warn`, refusals of clients at `debug`. `origin` is added to the line: the stage and hook that threw. Of an outage of a
 * provider `outages` writes one line of each kind in a while: the line of each exchange has what its attempts met.
 */
export function logError(
  exchange: Exchange,
  error: GatewayError,
  origin?: object,
  outages?: ThrottledLog<string>,
): void {
  const { status, type, code, cause } = error;
  // Overload, shutdown and what an operator ends are no faults.
  const isMeant = ['refused', 'shutdown', 'cancelled'].includes(exchange.end_reason!);
  const isOurs = (type === 'server_error' && !isMeant) || type === 'configuration_error';
  const level = isOurs ? 'error' : status >= 500 ? 'warn' : 'debug';
  if (level === 'debug' && !exchange.isLogged('debug')) return;
  const [model, account] = [exchange.model?.id, exchange.account?.id];
  const told = withoutPrompt(exchange, cause);
  const why = typeof told === 'string' ? { reason: told } : { err: told };
  const message = textWithoutPrompt(exchange, error.message);
  const fields = { status, type, code, model, account, ...originOf(exchange), ...origin, ...why };
  const outage = origin ? undefined : outageOf(exchange, error);
  if (outages && outage !== undefined) outages.write(outage, exchange.log, level, fields, message);
  else exchange.log[level](fields, message);
}

/**
 * The kind of an outage that `error` belongs to: the provider, how it failed and with which status, or the model that no provider serves.
 * Undefined for other errors.
 */
function outageOf({ provider, model, attempts, end_reason }: Exchange, { type, code }: GatewayError) {
  if (type !== 'provider_error' && code !== 'provider_misconfigured') return undefined;
  if (provider === undefined) return end_reason === 'refused' ? `${code} ${model?.id}` : undefined;
  return `${code} ${provider} ${attempts.at(-1)?.status}`;
}

/**
 * What the log says of an error for a client: not its message, which quotes values that are too short to be found in it. The line of the
 * exchange has what the client was told.
 */
export function errorFacts(exchange: Exchange, { type, status, code, cause }: GatewayError): object {
  const { told } = boundedFields({ told: withoutPrompt(exchange, cause) });
  return { type, status, code, cause: told instanceof Error ? told.stack : told };
}

/** What the log says of `thrown`, which a hook has thrown while it handled `handled`, without what it repeats of that one's message. */
export function faultFacts(exchange: Exchange, thrown: unknown, handled?: GatewayError): unknown {
  if (GatewayError.is(thrown)) return errorFacts(exchange, thrown);
  const told = withoutPrompt(exchange, thrown);
  if (!handled || !(told instanceof Error)) return told;
  const { name, message, stack = message, cause: because } = told;
  const cause = because === undefined ? undefined : faultFacts(exchange, because, handled);
  if (!stack.includes(handled.message) && !message.includes(handled.message) && cause === because)
    return told;
  const without = (text: string) => text.replaceAll(handled.message, '[message]');
  const copy = new Error(without(message), cause === undefined ? undefined : { cause });
  copy.stack = without(stack);
  return Object.assign(copy, { name });
}
