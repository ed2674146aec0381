import type { ChatRequest } from '../../canonical.ts';
import type { Target } from '../adapter.ts';

type Fields = Readonly<Record<string, unknown>>;

/** Every level that a server is known to have words for (protocol g). */
export const knownEfforts = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const;

/** The request fields of an effort: as the model's configuration says, else in the adapter's `words`; none where none is asked. */
export function effortFields(
  { reasoning_effort: effort }: ChatRequest,
  { effortMap }: Target,
  words: (effort: string) => Fields,
): Fields {
  if (effort === undefined) return {};
  return (Object.hasOwn(effortMap, effort) ? effortMap[effort] : undefined) ?? words(effort);
}

/**
 * An effort for servers that render a chat template: newer templates read the effort itself, others a switch, so both are sent
 * (protocol g). `switches` are the names of the template's variables that turn thinking on and off.
 */
export function templateEffort(switches: readonly string[]): (effort: string) => Fields {
  return effort => ({
    reasoning_effort: effort,
    ...(switches.length > 0 && {
      chat_template_kwargs: Object.fromEntries(switches.map(name => [name, effort !== 'none'])),
    }),
  });
}

/**
 * The client wants reasoning left in the text, and the server can be asked for that (protocol f12). Not with tools, since servers look
 * for calls in what they leave together; nor where the opening tag stands in the prompt, since the text would lack it.
 */
export function leavesReasoning({ reasoning_split, tools }: ChatRequest, target: Target): boolean {
  return reasoning_split === false && !tools?.length && !target.startsInReasoning;
}
