import type { Choice, ToolCall } from '../../canonical.ts';
import type { Identity } from '../define-dialect.ts';
import type { ReasoningPlacement } from './reasoning-placement.ts';
import type { ReplyForm } from './reply-form.ts';

/** Output items of the Responses format, in the order of keys in which people read them. */

export type ItemStatus = 'in_progress' | 'completed' | 'incomplete';

export type ContentPart =
  | { type: 'reasoning' | 'reasoning_text' | 'summary_text'; text: string }
  | { type: 'output_text'; text: string; annotations: []; logprobs?: readonly unknown[] }
  | { type: 'refusal'; refusal: string };

export type TextItem = ReturnType<typeof reasoningItem | typeof messageItem>;
export type CallItem = ReturnType<typeof callItem>;
export type OutputItem = TextItem | CallItem;

export const reasoningItem = (id: string, status: ItemStatus, content: readonly ContentPart[]) => ({
  id,
  type: 'reasoning' as const,
  status,
  summary: content.filter(({ type }) => type === 'summary_text'),
  content: content.filter(({ type }) => type === 'reasoning_text'),
});

/** The part of a reasoning item that has its text. */
export const reasoningPartOf = (placement: ReasoningPlacement) =>
  placement === 'summary' ? ('summary_text' as const) : ('reasoning_text' as const);

export const messageItem = (id: string, status: ItemStatus, content: readonly ContentPart[]) => ({
  id,
  type: 'message' as const,
  status,
  role: 'assistant' as const,
  content: [...content],
});

export const callItem = (id: string, status: ItemStatus, call: ToolCall) => ({
  id,
  type: 'function_call' as const,
  status,
  call_id: call.id,
  name: call.function.name,
  arguments: call.function.arguments,
});

export const outputText = (text: string, logprobs?: readonly unknown[]): ContentPart => ({
  type: 'output_text',
  text,
  annotations: [],
  ...(logprobs && { logprobs }),
});

/** Ids of one response's items: made of its own key, never the same twice, and the same in a stream as in a whole reply. */
export class ItemIds {
  readonly #key: string;
  /** Ids given so far, by prefix and by the upstream's id of a call. */
  readonly #counts = new Map<string, number>();
  readonly #callIds = new Set<string>();

  constructor(key: string) {
    this.#key = key;
  }

  next(prefix: 'msg' | 'rs' | 'fc'): string {
    const id = `${prefix}_${this.#key}`;
    const count = this.#count(id);
    return count === 1 ? id : `${id}_${count}`;
  }

  /** The upstream's id of a call. Some give one id to several, which clients take for the same call; these get another. */
  callId(given: string): string {
    let id = given;
    while (id === '' || this.#callIds.has(id)) id = `${given || 'call'}_${this.#count(`call ${given}`) + 1}`;
    this.#callIds.add(id);
    return id;
  }

  #count(name: string): number {
    const count = (this.#counts.get(name) ?? 0) + 1;
    this.#counts.set(name, count);
    return count;
  }
}

/** The items of a whole reply: reasoning, the message, function calls. The last item of one that was cut off is incomplete. */
export function outputOf(
  { key, request }: Identity,
  { message, finish_reason, logprobs }: Pick<Choice, 'message' | 'finish_reason' | 'logprobs'>,
  { placement }: ReplyForm,
): OutputItem[] {
  const { reasoning, content, refusal, tool_calls: calls = [] } = message;
  const ids = new ItemIds(key);
  const last: ItemStatus = isCutOff(finish_reason) ? 'incomplete' : 'completed';
  const statusAbove = (below: unknown): ItemStatus => (below ? 'completed' : last);
  const says = content || refusal;
  const inMessage = placement === 'message' && reasoning;
  const output: OutputItem[] = [];
  if (reasoning && !inMessage) {
    const part = { type: reasoningPartOf(placement), text: reasoning };
    output.push(reasoningItem(ids.next('rs'), statusAbove(says || calls.length), [part]));
  }
  if (says || inMessage || calls.length === 0) {
    const shown = wantsLogprobs(request) ? logprobsIn(logprobs) : undefined;
    const parts: ContentPart[] = [];
    if (inMessage) parts.push({ type: 'reasoning', text: reasoning });
    if (content || !refusal) parts.push(outputText(content ?? '', shown));
    if (refusal) parts.push({ type: 'refusal', refusal });
    output.push(messageItem(ids.next('msg'), statusAbove(calls.length), parts));
  }
  for (const [at, call] of calls.entries()) {
    const status = statusAbove(at < calls.length - 1);
    output.push(callItem(ids.next('fc'), status, { ...call, id: ids.callId(call.id) }));
  }
  return output;
}

/** Whether the model was stopped before its end: the response is incomplete. */
export const isCutOff = (finish_reason: string): boolean =>
  finish_reason === 'length' || finish_reason === 'content_filter';

export const wantsLogprobs = ({ parameters }: Identity['request']): boolean => parameters.logprobs === true;

/** Log probabilities of the text, which are the same in chat's form. */
export function logprobsIn(logprobs: unknown): readonly unknown[] | undefined {
  const content = (logprobs as { content?: unknown } | null | undefined)?.content;
  return Array.isArray(content) ? content : undefined;
}
