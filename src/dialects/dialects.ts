import { z } from 'zod';
import { chatCompletions } from './chat-completions.ts';
import type { Dialect } from './dialect.ts';
import { responses } from './responses.ts';

/** The `chat_completions` section of a configuration. */
export const chatCompletionsSchema = z.strictObject({
  reasoning_key: z
    .enum(['reasoning', 'reasoning_content', 'both'])
    .default('reasoning')
    .describe(
      'What reasoning is called in messages and deltas: `reasoning`; `reasoning_content`, the older name and the only one that some clients read; `both`, under each name.',
    ),
});

/** The `responses` section of a configuration. */
export const responsesSchema = z.strictObject({
  reasoning_placement: z
    .enum(['message', 'item', 'summary'])
    .default('message')
    .describe(
      "Where reasoning stands in a response: `message`, first in the message's content; `item`, an output item of its own as OpenAI has it, which agent frameworks expect; `summary`, such an item with the text as its summary, the only reasoning that some clients show.",
    ),
});

/** The dialects by the names of the endpoints that speak them. */
export type Dialects = Readonly<Partial<Record<string, Dialect>>>;

export interface DialectOptions {
  readonly chat_completions: z.output<typeof chatCompletionsSchema>;
  readonly responses: z.output<typeof responsesSchema>;
}

export function dialectsOf(options: DialectOptions): Dialects {
  return {
    'chat.completions': chatCompletions(options.chat_completions),
    responses: responses(options.responses),
  };
}
