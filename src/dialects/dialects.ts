import { z } from 'zod';
import { chatCompletions } from './chat-completions.ts';
import type { Dialect } from './dialect.ts';
import { responses } from './responses.ts';

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

export function dialectsOf(options: z.output<typeof responsesSchema>): Dialects {
  return { 'chat.completions': chatCompletions, responses: responses(options) };
}
