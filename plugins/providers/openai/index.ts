import { z } from 'zod';
import {
  type ChatRequest,
  decodeOpenAiReply,
  defineProvider,
  encodeOpenAi,
  OpenAiStreamDecoder,
  type Target,
} from '../../../src/plugin.ts';

/** OpenAI itself and any server that speaks its chat completions. */
export const openai = defineProvider({
  name: 'openai',
  schema: z.strictObject({
    provider_name: z.string().default('openai').describe('`gen_ai.provider.name` on spans.'),
    max_tokens_field: z
      .enum(['max_tokens', 'max_completion_tokens'])
      .default('max_tokens')
      .describe("The upstream's name for the cap; OpenAI's reasoning models want the second."),
  }),
  create({ provider_name, max_tokens_field }) {
    return {
      providerName: provider_name,
      encode(request, target) {
        const body = { ...encodeOpenAi(request, target), ...effortFields(request, target) };
        if (max_tokens_field !== 'max_tokens' && 'max_tokens' in body) {
          const { max_tokens, ...rest } = body;
          return {
            path: '/chat/completions',
            body: { ...rest, [max_tokens_field]: max_tokens, ...streamFields(request) },
          };
        }
        return { path: '/chat/completions', body: { ...body, ...streamFields(request) } };
      },
      decodeReply: decodeOpenAiReply,
      openStream: () => new OpenAiStreamDecoder(),
    };
  },
});

/** OpenAI has the catalog's words for an effort, except where the model's configuration says otherwise (protocol g). */
function effortFields(
  { reasoning_effort: effort }: ChatRequest,
  { effortMap }: Target,
): Record<string, unknown> {
  if (effort === undefined) return {};
  return effortMap[effort] ?? { reasoning_effort: effort };
}

/** Usage is asked for whatever the client wants to see of it: without it nothing could be billed. */
function streamFields({ stream }: ChatRequest): Record<string, unknown> {
  return stream ? { stream_options: { include_usage: true } } : {};
}
