import { z } from 'zod';
import {
  defineProvider,
  effortFields,
  knownEfforts,
  openAiAdapter,
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
    return openAiAdapter({
      providerName: 'vllm',
      fields: (request, target) => effortFields(request, target, words),
      // The server ignores running usage unless final usage is requested as well (protocol d7).
      streamFields: { stream_options: { include_usage: true, continuous_usage_stats: true } },
      // Only the final usage is the sum of all choices.
      usagePerChoice: true,
    });
  },
});
