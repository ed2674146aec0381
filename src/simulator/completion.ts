import type { Choice } from './choice.ts';
import type { Reply } from './reply.ts';
import { runText } from './token-run.ts';
import { completionUsage } from './usage.ts';

/** The simulated engine's fingerprint; a gateway must not pass it on to clients. */
export const FINGERPRINT = 'vllm-0.12.0-sim-tp1-4f2a9c1e';

/** The plain completion from `"choices"` on, with vLLM's null members; what stands before it differs per request. */
export function renderCompletion(reply: Reply, with_usage: boolean): string {
  const rest = {
    choices: reply.choices.map((choice, index) => renderChoice(reply, choice, index)),
    service_tier: null,
    system_fingerprint: FINGERPRINT,
    ...(with_usage ? { usage: completionUsage(reply) } : {}),
    prompt_logprobs: null,
    prompt_token_ids: null,
    prompt_text: null,
    kv_transfer_params: null,
  };
  return `${JSON.stringify(rest).slice(1)}`;
}

/** The start of a plain completion, up to its choices. */
export function completionHead(id: string, created: number, model: string): string {
  return `{"id":"${id}","object":"chat.completion","created":${created},"model":${JSON.stringify(model)},`;
}

function renderChoice(reply: Reply, choice: Choice, index: number): object {
  const calls = choice.segments.flatMap(({ call, run }) =>
    call ? [{ id: call.id, type: 'function', function: { name: call.name, arguments: runText(run) } }] : [],
  );
  const reasoning = channelText(choice, 'reasoning');
  const content = channelText(choice, 'content');
  return {
    index,
    message: {
      role: 'assistant',
      content: content ?? (calls.length > 0 || reasoning !== null ? null : ''),
      refusal: null,
      annotations: null,
      audio: null,
      function_call: null,
      ...(calls.length > 0 ? { tool_calls: calls } : {}),
      [reply.reasoning_key ?? 'reasoning']: reply.show_reasoning ? reasoning : null,
    },
    logprobs: null,
    finish_reason: choice.finish_reason,
    stop_reason: choice.stop_reason,
    token_ids: null,
  };
}

function channelText(choice: Choice, channel: 'reasoning' | 'content'): string | null {
  const segments = choice.segments.filter(segment => segment.channel === channel);
  return segments.length === 0 ? null : segments.map(segment => runText(segment.run)).join('');
}
