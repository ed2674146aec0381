import { z } from 'zod';
import {
  type Completion,
  decodeOpenAiReply,
  defineProvider,
  isObject,
  type Json,
  leavesReasoning,
  openAiAdapter,
  openAiParameters,
  templateEffort,
  thinkingSwitches,
} from '../../../src/plugin.ts';

/** llama.cpp's server, `llama-server`. */
export const llamaCpp = defineProvider({
  name: 'llama-cpp',
  schema: z.strictObject({
    thinking_switches: thinkingSwitches,
    cache_prompt: z
      .boolean()
      .optional()
      .describe('Keep the prompt for requests that begin alike; without it, as the server was started.'),
    timings_per_token: z
      .boolean()
      .default(true)
      .describe('Ask for token counts with every event of a stream; without it running usage is estimated.'),
  }),
  create: ({ thinking_switches, cache_prompt, timings_per_token }) =>
    openAiAdapter({
      providerName: 'llama.cpp',
      parameters: { ...openAiParameters, prompt_cache_key: false },
      effort: templateEffort(thinking_switches),
      fields: (request, target) => ({
        // By default the server splits reasoning if the template supports it.
        ...(leavesReasoning(request, target) && { reasoning_format: 'none' }),
        ...(cache_prompt !== undefined && { cache_prompt }),
      }),
      streamFields: timings_per_token ? { timings_per_token } : {},
      decodeReply,
      usagePerChoice: true,
      finalUsagePerChoice: true,
      errorsHaveStatus: true,
      usageIn: event => event.usage ?? usageOfTimings(event.timings),
    }),
});

/** Decodes a whole reply. Of several choices, only the first one's completion is counted by the server. */
function decodeReply(body: unknown): Completion {
  const { usage, ...reply } = decodeOpenAiReply(body, { errorsHaveStatus: true });
  if (!usage) return reply;
  return { ...reply, usage: reply.choices.length > 1 ? { ...usage, is_partial: true } : usage };
}

/** Running usage from the server's statistics, which count cached and other prompt tokens apart. */
function usageOfTimings(timings: unknown): Json | undefined {
  if (!isObject(timings)) return undefined;
  const { cache_n = 0, prompt_n, predicted_n } = timings;
  if (typeof cache_n !== 'number' || typeof prompt_n !== 'number' || typeof predicted_n !== 'number')
    return undefined;
  return {
    prompt_tokens: cache_n + prompt_n,
    completion_tokens: predicted_n,
    prompt_tokens_details: { cached_tokens: cache_n },
  };
}
