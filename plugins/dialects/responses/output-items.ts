import {
  CallIds,
  type Choice,
  type Identity,
  type ReasoningDetail,
  type ReplyMessage,
} from '../../../src/plugin.ts';
import {
  annotationOf,
  type HostedItem,
  type ItemStatus,
  imageItem,
  queryIn,
  searchItem,
} from './answer-extras.ts';
import { CustomInput } from './custom-input.ts';
import { type DefinedKind, definedCallOf } from './defined-tools.ts';
import { encryptedContentOf } from './encrypted-reasoning.ts';
import type { ReasoningPlacement, ReplyForm } from './reply-form.ts';
import type { ClientTool } from './tool-names.ts';

/** Output items of the Responses format, in the order of keys in which people read them. */

export type { ItemStatus };

export type ContentPart =
  | { type: 'reasoning' | 'reasoning_text' | 'summary_text'; text: string }
  | { type: 'output_text'; text: string; annotations: readonly object[]; logprobs?: readonly unknown[] }
  | { type: 'refusal'; refusal: string };

export type TextItem = ReturnType<typeof reasoningItem | typeof messageItem>;
export type CallItem = ReturnType<typeof callItem>;
export type CustomCallItem = ReturnType<typeof customCallItem>;
export type DefinedCallItem = ReturnType<typeof definedCallItem>;
export type OutputItem = TextItem | CallItem | CustomCallItem | DefinedCallItem | HostedItem;

interface ReasoningItem {
  readonly id: string;
  readonly type: 'reasoning';
  status: ItemStatus;
  readonly summary: ContentPart[];
  readonly content: ContentPart[];
  /** Signed reasoning, if the request asks for it. */
  encrypted_content?: string;
}

export const reasoningItem = (
  id: string,
  status: ItemStatus,
  content: readonly ContentPart[],
): ReasoningItem => ({
  id,
  type: 'reasoning' as const,
  status,
  summary: content.filter(({ type }) => type === 'summary_text'),
  content: content.filter(({ type }) => type === 'reasoning_text'),
});

/** Adds signed reasoning to its item. */
export function sign(item: TextItem, details: readonly ReasoningDetail[]): void {
  const content = encryptedContentOf(details);
  if (item.type === 'reasoning' && content !== undefined) item.encrypted_content = content;
}

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

const callItem = (
  id: string,
  status: ItemStatus,
  call_id: string,
  { name, namespace }: ClientTool,
  text: string,
) => ({
  id,
  type: 'function_call' as const,
  status,
  call_id,
  name,
  ...(namespace !== undefined && { namespace }),
  arguments: text,
});

const customCallItem = (
  id: string,
  status: ItemStatus,
  call_id: string,
  { name, namespace }: ClientTool,
  input: string,
) => ({
  id,
  type: 'custom_tool_call' as const,
  status,
  call_id,
  name,
  ...(namespace !== undefined && { namespace }),
  input,
});

const definedCallItem = (
  id: string,
  status: ItemStatus,
  call_id: string,
  kind: DefinedKind,
  text: string,
) => ({
  id,
  type: `${kind}_call` as const,
  status,
  call_id,
  ...definedCallOf(kind, text),
});

/** The tool with a function name, as the client calls it. */
export const toolOf = (name: string, { names }: ReplyForm): ClientTool =>
  names?.toolOf(name) ?? { kind: 'function', name };

export const outputText = (
  text: string,
  logprobs?: readonly unknown[],
  annotations: readonly object[] = [],
): ContentPart => ({
  type: 'output_text',
  text,
  annotations,
  ...(logprobs && { logprobs }),
});

/** The items of a whole reply: reasoning, the message, calls. The last item of one that was cut off is incomplete. */
export function outputOf(
  identity: Identity,
  choice: Pick<Choice, 'message' | 'finish_reason' | 'logprobs'>,
  form: ReplyForm,
): OutputItem[] {
  const ids = new ItemIds(identity.key);
  const { tool_calls: calls = [] } = choice.message;
  const texts = textItems(ids, identity, choice, form, calls.length > 0);
  const items = calls.map(({ id, function: { name, arguments: text } }, at) => {
    const status = at < calls.length - 1 ? 'completed' : lastStatus(choice.finish_reason);
    return itemOfCall(ids, id, toolOf(name, form), status, text);
  });
  return [...texts, ...items];
}

const lastStatus = (finish_reason: string): ItemStatus =>
  isCutOff(finish_reason) ? 'incomplete' : 'completed';

/** Reasoning and the message, of a reply that may have calls as well. */
export function textItems(
  ids: ItemIds,
  { request }: Identity,
  { message, finish_reason, logprobs }: Pick<Choice, 'message' | 'finish_reason' | 'logprobs'>,
  form: ReplyForm,
  hasCalls: boolean,
): OutputItem[] {
  const { reasoning, content, refusal, native = [], annotations = [], images = [] } = message;
  const statusAbove = (below: unknown): ItemStatus => (below ? 'completed' : lastStatus(finish_reason));
  const says = content || refusal;
  const inMessage = form.placement === 'message' && reasoning;
  const output: OutputItem[] = [];
  if (!inMessage) output.push(...wholeReasoning(ids, message, statusAbove(says || hasCalls), form));
  for (const query of native.flatMap(one => queryIn(one) ?? []))
    output.push(searchItem(ids.next('ws'), 'completed', query));
  if (says || inMessage || !hasCalls) {
    const shown = wantsLogprobs(request) ? (logprobsIn(logprobs) ?? []) : undefined;
    const parts: ContentPart[] = [];
    if (inMessage) parts.push({ type: 'reasoning', text: reasoning });
    if (content || !refusal) parts.push(outputText(content ?? '', shown, annotations.map(annotationOf)));
    if (refusal) parts.push({ type: 'refusal', refusal });
    output.push(messageItem(ids.next('msg'), statusAbove(hasCalls), parts));
  }
  for (const image of images) output.push(imageItem(ids.next('ig'), 'completed', image));
  return output;
}

/** The reasoning item, if there is reasoning to show or to send back. */
function wholeReasoning(
  ids: ItemIds,
  { reasoning, reasoning_details: details = [] }: ReplyMessage,
  status: ItemStatus,
  { placement, encrypts }: ReplyForm,
): ReasoningItem[] {
  if (!reasoning && !(encrypts && details.length > 0)) return [];
  const parts = reasoning ? [{ type: reasoningPartOf(placement), text: reasoning }] : [];
  const item = reasoningItem(ids.next('rs'), status, parts);
  if (encrypts === true || (encrypts && details.length > 0)) sign(item, details);
  return [item];
}

/** The item of a call, whose id may be replaced. */
export function itemOfCall(
  ids: ItemIds,
  id: string,
  tool: ClientTool,
  status: ItemStatus,
  text: string,
): CallItem | CustomCallItem | DefinedCallItem {
  const call_id = ids.callId(id);
  if (tool.kind === 'function') return callItem(ids.next('fc'), status, call_id, tool, text);
  if (tool.kind !== 'custom') return definedCallItem(ids.next('dtc'), status, call_id, tool.kind, text);
  const input = new CustomInput();
  return customCallItem(ids.next('ctc'), status, call_id, tool, input.push(text) + input.end());
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

/** Ids of one response's items: made of its own key, never the same twice, and the same in a stream as in a whole reply. */
export class ItemIds {
  readonly #key: string;
  /** Items so far, by prefix. */
  readonly #counts = new Map<string, number>();
  readonly #callIds = new CallIds((given, count) => `${given || 'call'}_${count + 1}`);

  constructor(key: string) {
    this.#key = key;
  }

  next(prefix: 'msg' | 'rs' | 'fc' | 'ctc' | 'dtc' | 'ws' | 'ig'): string {
    const count = (this.#counts.get(prefix) ?? 0) + 1;
    this.#counts.set(prefix, count);
    const id = `${prefix}_${this.#key}`;
    return count === 1 ? id : `${id}_${count}`;
  }

  /** The id of a call: the upstream's, unless it is empty or taken. */
  callId(given: string): string {
    return this.#callIds.unique(given);
  }
}
