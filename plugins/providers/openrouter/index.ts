import { z } from 'zod';
import {
  defineProvider,
  knownEfforts,
  type MessageField,
  openAiAdapter,
  openAiParameters,
  ReasoningCache,
  type ReasoningDetail,
} from '../../../src/plugin.ts';
import { decodeReply, errorStatus, OpenRouterStream } from './decode.ts';
import { readableBy } from './reasoning-details.ts';
import { searchFields } from './web-search.ts';

const max_age_ms = 3_600_000;

const messageFields: ReadonlySet<MessageField> = new Set(['reasoning', 'image_url', 'cache_control', 'file']);

/** OpenRouter's chat completions. Usage is sent without request, at the end of a stream. */
export const openrouter = defineProvider({
  name: 'openrouter',
  schema: z.strictObject({
    referer: z
      .url()
      .meta({ address: true })
      .optional()
      .describe("Sent as `HTTP-Referer`: your site, for OpenRouter's rankings."),
    title: z
      .string()
      .min(1)
      .meta({ shown: true })
      .optional()
      .describe("Sent as `X-Title`: your application's name."),
    routing: z
      .record(z.string(), z.unknown())
      .optional()
      .describe(
        'Sent as `provider` with every request: `order`, `only`, `sort`, `data_collection`, `max_price` …',
      ),
    hosted_tools: z
      .array(z.enum(['web_search']))
      .default([])
      .describe(
        "OpenRouter's own tools that clients may use: `web_search`, as a hosted tool of responses or messages or by `web_search_options`. It bills each search: set `pricing.web_search`.",
      ),
    remember_characters: z
      .int()
      .min(0)
      .default(16_000_000)
      .describe(
        'How much `reasoning_details` of turns that called tools is kept for their next request; 0 keeps none.',
      ),
  }),
  efforts: knownEfforts,
  extra_parameters: ['verbosity', 'prediction'],
  create({ referer, title, routing, hosted_tools, remember_characters }) {
    const memory = new ReasoningCache<readonly ReasoningDetail[]>({
      max_characters: remember_characters,
      max_age_ms,
    });
    return openAiAdapter({
      providerName: 'openrouter',
      headers: {
        ...(referer !== undefined && { 'http-referer': referer }),
        ...(title !== undefined && { 'x-title': title }),
      },
      effort: effort => ({ reasoning: reasoningOf(effort) }),
      parameters: { ...openAiParameters, web_search_options: hosted_tools.length > 0 },
      fields: request => ({ ...(routing && { provider: routing }), ...searchFields(request) }),
      messageFields,
      reasoningNames: ['reasoning'],
      // Most clients do not keep details; those of a client that does are its own.
      reasoningDetails: ({ reasoning_details, tool_calls }, model) =>
        readableBy(model, reasoning_details ?? (tool_calls && memory.recall(tool_calls))),
      decodeReply: body => decodeReply(body, memory),
      openStream: () => new OpenRouterStream(memory),
      errorStatus,
    });
  },
});

/** Reasoning fields of an effort: levels above `high` use one name here, which every version knows. */
function reasoningOf(effort: string): Record<string, unknown> {
  if (effort === 'none') return { enabled: false };
  return { effort: effort === 'max' ? 'xhigh' : effort };
}
