import { z } from 'zod';
import {
  type ChatRequest,
  decodeOpenAiReply,
  defineProvider,
  effortFields,
  encodeOpenAi,
  knownEfforts,
  OpenAiStreamDecoder,
} from '../../../src/plugin.ts';

/** OpenAI's own models that reason refuse `max_tokens`. */
const reasoningModel = /^(?:openai\/)?(?:o\d|gpt-(?:[5-9]|\d\d))/;

/** OpenAI itself and any server that speaks its chat completions. */
export const openai = defineProvider({
  name: 'openai',
  schema: z.strictObject({
    provider_name: z.string().default('openai').describe('`gen_ai.provider.name` on spans.'),
    max_tokens_field: z
      .enum(['auto', 'max_tokens', 'max_completion_tokens'])
      .default('auto')
      .describe(
        "The upstream's name for the cap; `auto` takes the second for OpenAI's reasoning models, by their names.",
      ),
  }),
  efforts: knownEfforts,
  create: ({ provider_name, max_tokens_field }) => ({
    providerName: provider_name,
    encode(request, target) {
      const { max_tokens, ...body } = encodeOpenAi(request, target);
      const isNewer = max_tokens_field === 'auto' && reasoningModel.test(target.model);
      const field =
        max_tokens_field === 'auto' ? (isNewer ? 'max_completion_tokens' : 'max_tokens') : max_tokens_field;
      return {
        path: '/chat/completions',
        body: {
          ...body,
          ...(max_tokens !== undefined && { [field]: max_tokens }),
          // It has the catalog's words for an effort, except where the model's configuration says otherwise (protocol g).
          ...effortFields(request, target, effort => ({ reasoning_effort: effort })),
          ...streamFields(request),
        },
      };
    },
    decodeReply: decodeOpenAiReply,
    openStream: () => new OpenAiStreamDecoder(),
  }),
});

/** Usage is asked for whatever the client wants to see of it: without it nothing could be billed. */
function streamFields({ stream }: ChatRequest): Record<string, unknown> {
  return stream ? { stream_options: { include_usage: true } } : {};
}
