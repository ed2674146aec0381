import { z } from 'zod';
import {
  type ChatRequest,
  decodeOpenAiReply,
  defineProvider,
  encodeOpenAi,
  OpenAiStreamDecoder,
  type Target,
} from '../../../src/plugin.ts';

/** vLLM's OpenAI-compatible server (protocol d7, d8, g). */
export const vllm = defineProvider({
  name: 'vllm',
  schema: z.strictObject({}),
  create: () => ({
    providerName: 'vllm',
    encode: (request, target) => ({
      path: '/chat/completions',
      body: { ...encodeOpenAi(request, target), ...effortFields(request, target), ...streamFields(request) },
    }),
    decodeReply: decodeOpenAiReply,
    // Its running usage counts each choice for itself; only the final usage is the sum.
    openStream: () => new OpenAiStreamDecoder({ usagePerChoice: true }),
  }),
});

/** Chat templates read `enable_thinking`, newer ones the effort itself, so both are sent (protocol g). */
function effortFields(
  { reasoning_effort: effort }: ChatRequest,
  { effortMap }: Target,
): Record<string, unknown> {
  if (effort === undefined) return {};
  return (
    effortMap[effort] ?? {
      reasoning_effort: effort,
      chat_template_kwargs: { enable_thinking: effort !== 'none' },
    }
  );
}

/** vLLM ignores running usage unless final usage is asked for as well (protocol d7). */
function streamFields({ stream }: ChatRequest): Record<string, unknown> {
  return stream ? { stream_options: { include_usage: true, continuous_usage_stats: true } } : {};
}
