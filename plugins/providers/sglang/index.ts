import { z } from 'zod';
import {
  type ChatRequest,
  decodeOpenAiReply,
  defineProvider,
  effortFields,
  encodeOpenAi,
  knownEfforts,
  leavesReasoning,
  OpenAiStreamDecoder,
  type Target,
  templateEffort,
} from '../../../src/plugin.ts';

/** SGLang's OpenAI-compatible server (protocol d7, f12, g). Cached tokens are there with its `--enable-cache-report`. */
export const sglang = defineProvider({
  name: 'sglang',
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
      providerName: 'sglang',
      encode: (request, target) => ({
        path: '/chat/completions',
        body: {
          ...encodeOpenAi(request, target),
          ...effortFields(request, target, words),
          ...splitFields(request, target),
          ...streamFields(request),
        },
      }),
      decodeReply: decodeOpenAiReply,
      // Its running usage counts each choice for itself; only the final usage is the sum.
      openStream: () => new OpenAiStreamDecoder({ usagePerChoice: true }),
    };
  },
});

/** Separate reasoning is its default, where it was started with a reasoning parser. */
function splitFields(request: ChatRequest, target: Target): Record<string, unknown> {
  return leavesReasoning(request, target) ? { separate_reasoning: false } : {};
}

function streamFields({ stream }: ChatRequest): Record<string, unknown> {
  return stream ? { stream_options: { include_usage: true, continuous_usage_stats: true } } : {};
}
