import { z } from 'zod';
import {
  defineProvider,
  knownEfforts,
  openAiAdapter,
  templateEffort,
  thinkingSwitches,
} from '../../../src/plugin.ts';

/** vLLM's OpenAI-compatible server. Its `include_reasoning: false` drops reasoning and is never sent. */
export const vllm = defineProvider({
  name: 'vllm',
  schema: z.strictObject({ thinking_switches: thinkingSwitches }),
  efforts: knownEfforts,
  create: ({ thinking_switches }) =>
    openAiAdapter({
      providerName: 'vllm',
      effort: templateEffort(thinking_switches),
      runningUsage: true,
      stopSequenceField: 'stop_reason',
      // Only the final usage is the sum of all choices.
      usagePerChoice: true,
    }),
});
