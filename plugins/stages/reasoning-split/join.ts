import {
  type ChatRequest,
  type Chunk,
  type ChunkChoice,
  type Completion,
  type Delta,
  encryptedDetails,
  type Message,
  type ReplyMessage,
  type StreamController,
  type StreamTransformer,
} from '../../../src/plugin.ts';
import { OpeningTag } from './opening-tag.ts';

/**
 * Separates reasoning that a joined reply had in its text again, on turns that called tools: servers that require it back do so under its
 * own name.
 */
export function separateJoined({ messages }: ChatRequest): void {
  for (const message of messages) if (message.tool_calls && !message.reasoning) separate(message);
}

function separate(message: Message): void {
  const { content } = message;
  if (typeof content !== 'string' || !content.startsWith(opening)) return;
  const end = content.indexOf(closing);
  if (end <= opening.length) return;
  message.reasoning = content.slice(opening.length, end);
  const rest = content.slice(end + closing.length);
  message.content = rest === '' ? null : rest;
}

const opening = '<think>';
const closing = '</think>';

/**
 * Puts reasoning that the upstream has separated back into the text, between tags; and the opening tag before a text that starts in reasoning.
 * `auto`: a closing tag without an opening one shows that it does.
 */
export function joinReply(reply: Completion, starts_in_reasoning: boolean | 'auto' = false): Completion {
  if (starts_in_reasoning === false && !reply.choices.some(({ message }) => hasReasoning(message)))
    return reply;
  const joined = (message: ReplyMessage) => joinMessage(message, starts_in_reasoning);
  return {
    ...reply,
    choices: reply.choices.map(choice => ({ ...choice, message: joined(choice.message) })),
  };
}

const hasReasoning = ({ reasoning, reasoning_details }: Pick<Delta, 'reasoning' | 'reasoning_details'>) =>
  reasoning !== undefined || reasoning_details !== undefined;

function joinMessage(
  { reasoning, ...given }: ReplyMessage,
  starts_in_reasoning: boolean | 'auto',
): ReplyMessage {
  const message = withoutTexts(given);
  const { content } = message;
  if (!reasoning) {
    const isInside = starts_in_reasoning === 'auto' ? content?.includes(closing) : starts_in_reasoning;
    if (!content || !isInside) return message;
    const tag = new OpeningTag();
    return { ...message, content: tag.push(content) + tag.end() };
  }
  // A reply that ended while reasoning keeps its tag open, as in the model's own text.
  const end = message.content || message.tool_calls ? closing : '';
  return { ...message, content: `${opening}${reasoning}${end}${message.content ?? ''}` };
}

/** Leaves out signed reasoning that is in the text as well; encrypted reasoning stays. */
function withoutTexts<T extends Pick<Delta, 'reasoning_details'>>(given: T): T {
  if (!given.reasoning_details) return given;
  const { reasoning_details, ...rest } = given;
  const encrypted = encryptedDetails(reasoning_details);
  return encrypted ? { ...given, reasoning_details: encrypted } : (rest as T);
}

/** Joins a stream, each choice by itself. Holds back only what may become an opening tag; a stream that ends in reasoning keeps its tag open. */
export class StreamJoiner implements StreamTransformer {
  readonly #open = new Set<number>();
  readonly #startsInside: boolean;
  /** By choice, if texts start in reasoning. */
  readonly #openings = new Map<number, OpeningTag>();

  /** With `startsInside` the text of every choice gets an opening tag, unless it has one or its reasoning is separated. */
  constructor(startsInside = false) {
    this.#startsInside = startsInside;
  }

  transform(chunk: Chunk, controller: StreamController): void {
    const isPlain = this.#open.size === 0 && !this.#startsInside;
    if (isPlain && !chunk.choices.some(({ delta }) => hasReasoning(delta))) return controller.enqueue(chunk);
    const { choices, usage } = chunk;
    const closings: ChunkChoice[] = [];
    const joined = choices.map(choice => this.#joinChoice(...this.#opened(choice), closings));
    const parts = closings.length > 0 ? [closings, joined] : [joined];
    for (const part of parts) controller.enqueue(usage ? { choices: part, usage } : { choices: part });
  }

  flush(controller: StreamController): void {
    for (const [index, opening] of this.#openings) {
      const content = opening.end();
      if (content !== '')
        controller.enqueue({ choices: [{ index, delta: { content }, finish_reason: null }] });
    }
  }

  /** The choice with the opening tag before its first text, and text that was held and comes before it. */
  #opened(choice: ChunkChoice): [choice: ChunkChoice, before: string] {
    if (!this.#startsInside) return [choice, ''];
    const { index, delta, finish_reason } = choice;
    let opening = this.#openings.get(index);
    if (!opening) this.#openings.set(index, (opening = new OpeningTag()));
    if (delta.reasoning) return [choice, opening.skip()];
    let content = opening.push(delta.content ?? '');
    if (delta.tool_calls || finish_reason) content += opening.end();
    return [content === (delta.content ?? '') ? choice : { ...choice, delta: { ...delta, content } }, ''];
  }

  #joinChoice(choice: ChunkChoice, before: string, closings: ChunkChoice[]): ChunkChoice {
    const { index } = choice;
    const { reasoning, ...delta } = withoutTexts(choice.delta);
    let text = before;
    if (reasoning) {
      if (!this.#open.has(index)) text += opening;
      this.#open.add(index);
      text += reasoning;
    }
    if (delta.content && this.#open.delete(index)) text += closing;
    text += delta.content ?? '';
    if (delta.tool_calls && this.#open.delete(index)) {
      closings.push({ index, delta: { content: text + closing }, finish_reason: null });
      text = '';
    }
    if (text !== '') delta.content = text;
    return { ...choice, delta };
  }
}
