import { z } from 'zod';
import {
  defineProvider,
  knownEfforts,
  leavesReasoning,
  openAiAdapter,
  openAiParameters,
  templateEffort,
  thinkingSwitches,
} from '../../../src/plugin.ts';

/** SGLang's OpenAI-compatible server. It reports cached tokens if started with `--enable-cache-report`. */
export const sglang = defineProvider({
  name: 'sglang',
  schema: z.strictObject({ thinking_switches: thinkingSwitches }),
  efforts: knownEfforts,
  create: ({ thinking_switches }) =>
    openAiAdapter({
      providerName: 'sglang',
      parameters: { ...openAiParameters, prompt_cache_key: false },
      effort: templateEffort(thinking_switches),
      // The server separates reasoning by default, if started with a reasoning parser.
      fields: (request, target) => (leavesReasoning(request, target) ? { separate_reasoning: false } : {}),
      runningUsage: true,
      stopSequenceField: 'matched_stop',
      // Only the final usage is the sum of all choices.
      usagePerChoice: true,
    }),
});
