import { boundedFields } from '../../telemetry/bounded-fields.ts';
import { GatewayError } from './errors.ts';
import type { Exchange } from './exchange.ts';
import { withoutPrompt } from './prompt-filter.ts';

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
