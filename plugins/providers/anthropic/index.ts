import { z } from 'zod';
import { defineProvider, knownEfforts, ReasoningCache } from '../../../src/plugin.ts';
import { decodeReply, errorStatus } from './decode.ts';
import { encodeRequest, messageFields, parameters } from './encode.ts';
import type { ThinkingMemory } from './history.ts';
import { AnthropicStream } from './stream.ts';

const max_age_ms = 3_600_000;

/** Beta header that lets a request say how to treat thinking whose preceding history has changed. */
const bindingBeta = 'thinking-binding-controls-2026-08-01';

/** Anthropic's Messages API, and servers that speak it. */
export const anthropic = defineProvider({
  name: 'anthropic',
  schema: z.strictObject({
    version: z.string().meta({ shown: true }).default('2023-06-01').describe('Sent as `anthropic-version`.'),
    beta: z.array(z.string().min(1)).meta({ shown: true }).default([]).describe('Sent as `anthropic-beta`.'),
    thinking: z
      .enum(['auto', 'budget', 'adaptive'])
      .default('auto')
      .describe(
        "How a model is made to think: by a number of tokens, as up to Claude 4.5 and by other makers' servers, or adaptively by an effort, as since 4.6; `auto` goes by the model's name.",
      ),
    remember_characters: z
      .int()
      .min(0)
      .default(16_000_000)
      .describe(
        'How much signed thinking of turns that called tools is kept, for at most an hour, for their next request; 0 keeps none, and a tool loop goes on without a thinking budget.',
      ),
    on_changed_history: z
      .enum(['refuse', 'drop'])
      .default('refuse')
      .describe(
        'What newer models do with thinking of a tool loop when the client has changed something before it, such as the time in its system prompt: refuse the request, or drop the thinking, which takes a beta of the API.',
      ),
    strict_tools: z
      .boolean()
      .default(false)
      .describe(
        'Pass `strict` of tools on; the API limits how many there may be and what their schemas may say.',
      ),
    hosted_tools: z
      .array(z.enum(['web_search']))
      .default([])
      .describe(
        "The API's own tools that clients may use: `web_search`, as a hosted tool of responses or messages or by `web_search_options`. The API bills each search: set `pricing.web_search`.",
      ),
    prompt_caching: z
      .enum(['off', '5m', '1h'])
      .default('off')
      .describe(
        'Have the prompt cached this long, beside what clients mark with `cache_control`. Writing to the cache costs more than plain input: set `pricing.input_cache_write`.',
      ),
  }),
  efforts: knownEfforts,
  create({ version, beta, remember_characters, hosted_tools, ...options }) {
    const memory: ThinkingMemory = new ReasoningCache({ max_characters: remember_characters, max_age_ms });
    const betas = options.on_changed_history === 'drop' ? [...beta, bindingBeta] : beta;
    const headers = {
      'anthropic-version': version,
      ...(betas.length > 0 && { 'anthropic-beta': betas.join(',') }),
    };
    return {
      providerName: 'anthropic',
      headers,
      parameters: hosted_tools.length > 0 ? new Set([...parameters, 'web_search_options']) : parameters,
      messageFields,
      credential: api_key => ({ 'x-api-key': api_key }),
      encode: (request, target) => ({
        path: '/messages',
        ...encodeRequest(request, target, options, memory),
      }),
      decodeReply: body => decodeReply(body, memory),
      openStream: () => new AnthropicStream(memory),
      errorStatus,
    };
  },
});
