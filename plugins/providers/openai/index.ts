import { z } from 'zod';
import {
  type ChatRequest,
  defineProvider,
  isObject,
  type Json,
  knownEfforts,
  type MessageField,
  openAiAdapter,
  openAiParameters,
} from '../../../src/plugin.ts';

/** OpenAI's own reasoning models, which reject `max_tokens`. */
const reasoningModel = /^(?:openai\/)?(?:o\d|gpt-(?:[5-9]|\d\d))/;

const messageFields: ReadonlySet<MessageField> = new Set(['reasoning', 'image_url', 'extra_content', 'file']);

/** Such models always search, so it cannot be forced, and they know no filters. */
function searchFields({ parameters: { web_search_options: options, tool_choice } }: ChatRequest): Json {
  if (!isObject(options)) return {};
  const { search_context_size, user_location } = options;
  const isForced = isObject(tool_choice) && tool_choice.type === 'web_search';
  return {
    web_search_options: { search_context_size, user_location },
    ...(isForced && { tool_choice: undefined }),
  };
}

/** OpenAI itself and any server that speaks its chat completions. */
export const openai = defineProvider({
  name: 'openai',
  schema: z.strictObject({
    provider_name: z
      .string()
      .meta({ shown: true })
      .default('openai')
      .describe('`gen_ai.provider.name` on spans.'),
    max_tokens_field: z
      .enum(['auto', 'max_tokens', 'max_completion_tokens'])
      .default('auto')
      .describe(
        "The upstream's name for the cap; `auto` takes the second for OpenAI's reasoning models, by their names.",
      ),
    reasoning_field: z
      .enum(['reasoning_content', 'reasoning'])
      .default('reasoning_content')
      .describe(
        "The upstream's name for reasoning that clients send back. Set `send_reasoning: never` for a server that refuses both.",
      ),
    hosted_tools: z
      .array(z.enum(['web_search']))
      .default([])
      .describe(
        'Tools of the server that clients may use: `web_search`, as a hosted tool of responses or messages or by `web_search_options`, which is how it is sent. Of OpenAI the models with `search` in their names take it.',
      ),
  }),
  efforts: knownEfforts,
  create: ({ provider_name, max_tokens_field, reasoning_field, hosted_tools }) =>
    openAiAdapter({
      providerName: provider_name,
      // A prompt that is too long, or a bad key, is also said inside a reply of status 200.
      errorsHaveStatus: true,
      messageFields,
      ...(hosted_tools.length > 0 && {
        parameters: { ...openAiParameters, web_search_options: true },
        fields: searchFields,
      }),
      reasoningNames: [reasoning_field],
      // The server knows the catalog's effort levels, unless the model's configuration maps them.
      effort: reasoning_effort => ({ reasoning_effort }),
      usesCompletionCap: model =>
        max_tokens_field === 'auto'
          ? reasoningModel.test(model)
          : max_tokens_field === 'max_completion_tokens',
    }),
});
