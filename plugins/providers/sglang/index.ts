import { z } from 'zod';
import {
  defineProvider,
  effortFields,
  knownEfforts,
  leavesReasoning,
  openAiAdapter,
  templateEffort,
} from '../../../src/plugin.ts';

/** SGLang's OpenAI-compatible server (protocol d7, f12, g). It reports cached tokens if started with `--enable-cache-report`. */
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
        // The server separates reasoning by default, if started with a reasoning parser.
        ...(leavesReasoning(request, target) && { separate_reasoning: false }),
      }),
      streamFields: { stream_options: { include_usage: true, continuous_usage_stats: true } },
      // Only the final usage is the sum of all choices.
      usagePerChoice: true,
    });
  },
});
