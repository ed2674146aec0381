import { isDeeper, type Json } from '../../common/json-object.ts';
import {
  type Choice,
  type ChunkChoice,
  type Completion,
  max_choices,
  max_extra_characters,
  type ReasoningDetail,
  type ReplyExtras,
} from '../exchange/canonical.ts';
import { type GatewayError, refusal } from '../exchange/errors.ts';

/** The most tool calls of one reply, in all its choices together; agents make some dozens. */
export const max_tool_calls = 4096;

/** The most parts of one reply that are no calls: parts of a message's content, blocks of a message, details of its reasoning. */
export const max_parts = 4096;

/** Far deeper than any reply, and not too deep for `JSON.stringify`, which has a limit that `JSON.parse` has not. */
const max_levels = 1000;

/** Returns `list`. Throws `provider_invalid` if it has more than `most` elements, before anything is made of them. */
export function atMost(list: readonly unknown[], most: number, what: string): readonly unknown[] {
  if (list.length > most) throw tooMany(what, most);
  return list;
}

/** `value` of unknown form, to be passed on. Throws `provider_invalid` if it is nested too deeply to be written again. */
export function writable<T>(value: T): T {
  if (isDeeper(value, max_levels)) throw invalid(`values nested more than ${max_levels} levels deep`);
  return value;
}

/** `extra_content` of a call, to be passed on. Throws `provider_invalid` for more than its clients may send back. */
export function extraContent(value: Json): Json {
  if (JSON.stringify(writable(value)).length > max_extra_characters)
    throw invalid(`extra_content of more than ${max_extra_characters} characters`);
  return value;
}

const tooMany = (what: string, most: number): GatewayError => invalid(`more than ${most} ${what}`);

const invalid = (has: string): GatewayError =>
  refusal('provider_invalid', { cause: new Error(`a reply with ${has}`) });

/** What is counted of a message or a piece of one. */
interface Counted extends ReplyExtras {
  readonly tool_calls?: readonly { readonly index?: number; readonly id?: string }[];
  readonly reasoning_details?: readonly ReasoningDetail[];
}

/** Throws `provider_invalid` for a whole reply that exceeds the bounds. */
export function checkReply({ choices }: Completion): void {
  if (choices.length > max_choices) throw tooMany('choices', max_choices);
  let bounds: ReplyBounds | undefined;
  for (let at = 0; at < choices.length; at++) {
    const choice = choices[at]!;
    const { tool_calls, reasoning_details, native, annotations, images } = choice.message;
    // Most are text alone.
    const hasParts = tool_calls || reasoning_details || native || annotations || images;
    if (!hasParts && choice.logprobs == null && choice.index < max_choices) continue;
    bounds ??= new ReplyBounds();
    bounds.add(choice, choice.message);
  }
}

/**
 * Counts what a decoded reply consists of. Each choice, call and part is an object in every stage and one event or more for the client, so
 * that a reply of few bytes could take the memory and the time of all others.
 */
export class ReplyBounds {
  #calls = 0;
  #details = 0;
  #extras = 0;

  /** Takes a choice, or a piece of one, and what it says. Throws as for a whole reply. */
  add({ index, logprobs }: Choice | ChunkChoice, said: Counted): void {
    const { tool_calls, reasoning_details, native, annotations, images } = said;
    if (index >= max_choices) throw tooMany('choices', max_choices);
    for (const { id, index: at = 0 } of tool_calls ?? []) {
      // Only the first piece of a call has its id.
      if (id !== undefined) this.#calls++;
      if (this.#calls > max_tool_calls || at >= max_tool_calls) throw tooMany('tool calls', max_tool_calls);
    }
    this.#details += reasoning_details?.length ?? 0;
    if (this.#details > max_parts) throw tooMany('details of reasoning', max_parts);
    this.#extras += (native?.length ?? 0) + (annotations?.length ?? 0) + (images?.length ?? 0);
    if (this.#extras > max_parts) throw tooMany('citations, images and items of hosted tools', max_parts);
    if (reasoning_details || native || annotations) writable([reasoning_details, native, annotations]);
    if (logprobs != null) writable(logprobs);
  }
}
