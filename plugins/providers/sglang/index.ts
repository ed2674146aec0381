import { z } from 'zod';
import {
  defineProvider,
  effortFields,
  knownEfforts,
  leavesReasoning,
  openAiAdapter,
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
    return openAiAdapter({
      providerName: 'sglang',
      fields: (request, target) => ({
        ...effortFields(request, target, words),
        // Separate reasoning is its default, where it was started with a reasoning parser.
        ...(leavesReasoning(request, target) && { separate_reasoning: false }),
      }),
      streamFields: { stream_options: { include_usage: true, continuous_usage_stats: true } },
      // Only the final usage is the sum.
      usagePerChoice: true,
    });
  },
});
