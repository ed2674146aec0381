import { z } from 'zod';
import {
  type ChatRequest,
  decodeOpenAiReply,
  defineProvider,
  effortFields,
  encodeOpenAi,
  knownEfforts,
  OpenAiStreamDecoder,
  templateEffort,
} from '../../../src/plugin.ts';

/** vLLM's OpenAI-compatible server (protocol d7, d8, g). Its `include_reasoning: false` drops reasoning and is never sent (f12). */
export const vllm = defineProvider({
  name: 'vllm',
  schema: z.strictObject({
    thinking_switches: z
      .array(z.string().min(1))
      .default(['enable_thinking'])
      .describe(
        'Variables of the chat template that turn thinking on and off, such as `thinking` for DeepSeek V3.1.',
      ),
  }),
  efforts: knownEfforts,
  create({ thinking_switches }) {
    const words = templateEffort(thinking_switches);
    return {
      providerName: 'vllm',
      encode: (request, target) => ({
        path: '/chat/completions',
        body: {
          ...encodeOpenAi(request, target),
          ...effortFields(request, target, words),
          ...streamFields(request),
        },
      }),
      decodeReply: decodeOpenAiReply,
      // Its running usage counts each choice for itself; only the final usage is the sum.
      openStream: () => new OpenAiStreamDecoder({ usagePerChoice: true }),
    };
  },
});

/** vLLM ignores running usage unless final usage is asked for as well (protocol d7). */
function streamFields({ stream }: ChatRequest): Record<string, unknown> {
  return stream ? { stream_options: { include_usage: true, continuous_usage_stats: true } } : {};
}
