import { z } from 'zod';
import type { ChatRequest } from '../../exchange/canonical.ts';
import type { Target } from '../adapter.ts';

type Fields = Readonly<Record<string, unknown>>;

/** Every level that some server supports. */
export const knownEfforts = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const;

/** The request fields of an effort: those of the model's `effort_map`, else of the adapter's `words`; none without an effort. */
export function effortFields(
  { reasoning_effort: effort }: ChatRequest,
  { effortMap }: Target,
  words: (effort: string) => Fields,
): Fields {
  if (effort === undefined) return {};
  return (Object.hasOwn(effortMap, effort) ? effortMap[effort] : undefined) ?? words(effort);
}

/** Option of servers that render a chat template. */
export const thinkingSwitches = z
  .array(z.string().min(1))
  .meta({ shown: true })
  .default(['enable_thinking'])
  .describe(
    'Variables of the chat template that turn thinking on and off, such as `thinking` for DeepSeek V3.1.',
  );

/** Effort fields for servers that render a chat template: newer templates read the effort, others `switches`, so both are sent. */
export function templateEffort(switches: readonly string[]): (effort: string) => Fields {
  return effort => ({
    reasoning_effort: effort,
    ...(switches.length > 0 && {
      chat_template_kwargs: Object.fromEntries(switches.map(name => [name, effort !== 'none'])),
    }),
  });
}

/**
 * Whether a server should leave reasoning in the text. Not with tools, since servers look for calls in unsplit text; nor
 * where the opening tag stands in the prompt, since the text would lack it.
 */
export function leavesReasoning({ reasoning_split, tools }: ChatRequest, target: Target): boolean {
  return reasoning_split === false && !tools?.length && !target.startsInReasoning;
}
