import { z } from 'zod';
import {
  defineProvider,
  knownEfforts,
  openAiAdapter,
  openAiParameters,
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
      parameters: { ...openAiParameters, prompt_cache_key: false },
      // Versions from 0.16 on read the first name, some of them only that; older ones the second.
      reasoningNames: ['reasoning', 'reasoning_content'],
      effort: templateEffort(thinking_switches),
      runningUsage: true,
      stopSequenceField: 'stop_reason',
      // Only the final usage is the sum of all choices.
      usagePerChoice: true,
    }),
});
