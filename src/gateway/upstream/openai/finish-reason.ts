import type { Choice, FinishReason } from '../../exchange/canonical.ts';
import { refusal } from '../../exchange/errors.ts';

/** Why a choice ended; `native_finish_reason` is set if the server's word for it is not known. */
export type Finish = Pick<Choice, 'finish_reason' | 'native_finish_reason'>;

const words = (reason: FinishReason | 'failed', list: string) =>
  list.split(' ').map(word => [word, { finish_reason: reason }] as const);

/** Words of servers by their meaning, in lower case with `_`. `failed`: what came is no answer. */
const meanings = new Map([
  ...words('stop', 'stop end_turn stop_sequence pause_turn eos eos_token complete completed'),
  ...words('length', 'length max_tokens model_length model_context_window_exceeded max_output_tokens'),
  ...words('tool_calls', 'tool_calls tool_call tool_use function_call'),
  ...words('content_filter', 'content_filter safety recitation refusal sensitive'),
  ...words('failed', 'error network_error server_error internal_error insufficient_system_resource'),
  ...words('failed', 'abort aborted cancel cancelled canceled timeout failed'),
]);

const normalized = (word: string): string => word.slice(0, 64).toLowerCase().replaceAll('-', '_');

/** A server's word as a metric's label: one of those known here, or `other`, since a server may send any text. */
export function finishLabel(word: string): string {
  const label = normalized(word);
  return meanings.has(label) ? label : 'other';
}

/**
 * The meaning of any server's finish reason; `undefined` if `value` is none, since the choice has not ended. An unknown word is `stop`.
 * Throws a GatewayError for a word that means a failure, such as `network_error`.
 */
export function finishOf(value: unknown): Finish | undefined {
  if (typeof value !== 'string' || value === '') return undefined;
  const meaning = meanings.get(value) ?? meanings.get(normalized(value));
  if (!meaning) return { finish_reason: 'stop', native_finish_reason: value };
  const { finish_reason } = meaning;
  if (finish_reason === 'failed')
    throw refusal('provider_broke_off', { cause: new Error(`finish_reason ${value}`) });
  return { finish_reason };
}
