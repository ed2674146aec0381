import type { Choice } from './choice.ts';
import { type Reply, usageOf } from './reply.ts';
import { runText } from './tokens.ts';

/** The simulated engine's fingerprint; a gateway must not pass it on to clients. */
export const FINGERPRINT = 'vllm-0.12.0-sim-tp1-4f2a9c1e';

/** The plain completion from its choices on, with vLLM's null members; what stands before it differs per request. */
export function renderCompletion(reply: Reply): string {
  const { choices, options, total } = reply;
  return JSON.stringify({
    choices: choices.map((choice, index) => renderChoice(reply, choice, index)),
    service_tier: null,
    system_fingerprint: FINGERPRINT,
    usage: options.usage === 'none' ? undefined : usageOf(reply, total, null),
    prompt_logprobs: null,
    prompt_token_ids: null,
    prompt_text: null,
    kv_transfer_params: null,
  }).slice(1);
}

function renderChoice({ reasoning_key, request }: Reply, choice: Choice, index: number): object {
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
      tool_calls: calls.length > 0 ? calls : undefined,
      [reasoning_key ?? 'reasoning']: request.include_reasoning ? reasoning : null,
    },
    logprobs: null,
    finish_reason: choice.finish_reason,
    stop_reason: choice.stop_reason,
    token_ids: null,
  };
}

function channelText({ segments }: Choice, channel: 'reasoning' | 'content'): string | null {
  const texts = segments.filter(segment => segment.channel === channel).map(({ run }) => runText(run));
  return texts.length === 0 ? null : texts.join('');
}
