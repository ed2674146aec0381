import { fieldPath, invalidField, type Message, type ReasoningDetail, shown } from '../../../src/plugin.ts';
import { EncryptedReasoning } from './encrypted-reasoning.ts';
import type { Note } from './history-items.ts';
import type { Item } from './input-items.ts';
import type { ReasoningInput } from './input-parts.ts';
import type { CalledTool, ToolNames } from './tool-names.ts';

const noCall =
  'must be the call_id of a function_call before it; replies are not stored here, so send it as well';

/**
/**
 * The messages of `items` for a model that may see images or not, and the names of what they do not show. The first `replayed` are not of the
 * request's own input. Throws `invalid_request` for an output without its call.
 */
export function messagesOf(items: readonly Item[], names: ToolNames, seesImages: boolean, replayed = 0) {
  const conversation = new Conversation(names, seesImages);
  for (const [at, item] of items.entries()) conversation.add(item, at - replayed);
  return conversation.end();
}

/**
 * Items as chat messages. An assistant's reasoning, texts and calls up to their outputs become one message, because servers require the
 * outputs directly after the calls.
 */
class Conversation {
  readonly #names: ToolNames;
  readonly #seesImages: boolean;
  readonly #messages: Message[] = [];
  readonly #called = new Set<string>();
  /** Names of what was left out. */
  readonly #dropped = new Set<string>();
  /** The assistant's message to which more is added, until another message comes. */
  #turn: Message | undefined;
  /** Whether nothing but notes stands in it yet. */
  #isNoted = false;
  /** Reasoning before a message that has not come yet. */
  #reasoning: { readonly text: string; readonly details: readonly ReasoningDetail[] }[] = [];
  readonly #encrypted = new EncryptedReasoning();

  constructor(names: ToolNames, seesImages: boolean) {
    this.#names = names;
    this.#seesImages = seesImages;
  }

  add(item: Item, at: number): void {
    if ('reasoning_item' in item) this.#think(item.reasoning_item);
    else if ('note' in item) this.#note(item);
    else if ('tools' in item) return;
    else if (!('role' in item)) {
      const { call, output, unseen } = item;
      if (call) this.#call(call);
      if (output) this.#answer(this.#seesImages ? output : (unseen ?? output), at);
    } else if (item.role === 'assistant') this.#say(item);
    else this.#push(item);
  }

  end(): { messages: Message[]; dropped: ReadonlySet<string> } {
    this.#settle();
    return { messages: this.#messages, dropped: this.#dropped };
  }

  #think({ text, encrypted_content: content }: ReasoningInput): void {
    const details = content == null ? [] : this.#encrypted.detailsIn(content);
    if (!details) this.#dropped.add('input.encrypted_content');
    this.#reasoning.push({ text, details: details ?? [] });
  }

  #answer(output: Message, at: number): void {
    const id = output.tool_call_id ?? '';
    // Replies are not stored, so the model would see an output without its call.
    if (!this.#called.has(id))
      throw invalidField(fieldPath(['input', at, 'call_id']), `${noCall}, not ${shown(id)}`);
    this.#push(output);
  }

  /** Adds what the assistant has done to its turn, before or behind what it says. */
  #note({ note, by }: Note): void {
    if (by === 'user') return this.#push({ role: 'user', content: [note] });
    if (this.#turn) this.#turn.content = joined(this.#turn.content, [note]) || null;
    else {
      this.#messages.push((this.#turn = { role: 'assistant', content: [note] }));
      this.#isNoted = true;
    }
    this.#settle();
  }

  #call({ id, tool, arguments: text }: CalledTool): void {
    if (!this.#turn) this.#messages.push((this.#turn = { role: 'assistant', content: null }));
    const turn = this.#turn;
    this.#isNoted = false;
    turn.content ||= null;
    turn.tool_calls ??= [];
    turn.tool_calls.push({
      id,
      type: 'function',
      function: { name: this.#names.functionOf(tool), arguments: text },
    });
    this.#called.add(id);
    this.#settle();
  }

  #say({ reasoning, ...message }: Message): void {
    const joins = this.#isNoted || (this.#turn?.tool_calls && !message.tool_calls);
    if (this.#turn && joins) {
      const content = joined(this.#turn.content, message.content) || null;
      Object.assign(this.#turn, this.#isNoted && message, { content });
    } else this.#messages.push((this.#turn = message));
    this.#isNoted = false;
    for (const { id } of message.tool_calls ?? []) this.#called.add(id);
    this.#settle();
    if (reasoning) reason(this.#turn, reasoning);
  }

  /** Adds a message that ends the assistant's turn. */
  #push(message: Message): void {
    this.#settle();
    this.#turn = undefined;
    this.#isNoted = false;
    this.#messages.push(message);
  }

  /** Gives reasoning to the message after it or, at the end of a turn, to the one before it. */
  #settle(): void {
    for (const { text, details } of this.#reasoning) {
      if (!text && details.length === 0) continue;
      if (!this.#turn) this.#dropped.add('input.reasoning');
      if (!this.#turn) continue;
      if (text) reason(this.#turn, text);
      if (details.length > 0) (this.#turn.reasoning_details ??= []).push(...details);
    }
    this.#reasoning = [];
  }
}

function reason(message: Message, text: string): void {
  message.reasoning = message.reasoning ? `${message.reasoning}\n${text}` : text;
}

type Content = Message['content'];

/** Joins two contents. Adds to the first's parts in place, as a client may send many. */
function joined(first: Content, second: Content): Content {
  if (!first) return second;
  if (!second) return first;
  if (typeof first === 'string' && typeof second === 'string') return `${first}\n${second}`;
  const parts = typeof first === 'string' ? [{ type: 'text' as const, text: first }] : first;
  const more = typeof second === 'string' ? [{ type: 'text' as const, text: second }] : second;
  for (const part of more) parts.push(part);
  return parts;
}
