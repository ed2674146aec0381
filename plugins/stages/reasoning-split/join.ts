import type {
  ChatRequest,
  Chunk,
  ChunkChoice,
  Completion,
  Delta,
  Message,
  ReplyMessage,
  StreamController,
  StreamTransformer,
} from '../../../src/plugin.ts';

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

/** Puts reasoning that the upstream has separated back into the text, between tags. */
export function joinReply(reply: Completion): Completion {
  if (!reply.choices.some(({ message }) => hasReasoning(message))) return reply;
  return {
    ...reply,
    choices: reply.choices.map(choice => ({ ...choice, message: joinMessage(choice.message) })),
  };
}

const hasReasoning = ({ reasoning, reasoning_details }: Pick<Delta, 'reasoning' | 'reasoning_details'>) =>
  reasoning !== undefined || reasoning_details !== undefined;

function joinMessage({ reasoning, ...given }: ReplyMessage): ReplyMessage {
  const message = withoutTexts(given);
  if (!reasoning) return message;
  // A reply that ended while reasoning keeps its tag open, as in the model's own text.
  const end = message.content || message.tool_calls ? closing : '';
  return { ...message, content: `${opening}${reasoning}${end}${message.content ?? ''}` };
}

/** Leaves out signed reasoning that is in the text as well; encrypted reasoning stays. */
function withoutTexts<T extends Pick<Delta, 'reasoning_details'>>(given: T): T {
  if (!given.reasoning_details) return given;
  const { reasoning_details, ...rest } = given;
  const encrypted = reasoning_details.filter(({ text, summary }) => !text && !summary);
  return encrypted.length > 0 ? { ...given, reasoning_details: encrypted } : (rest as T);
}

/** Joins a stream, each choice by itself. Holds nothing back; a stream that ends in reasoning keeps its tag open. */
export class StreamJoiner implements StreamTransformer {
  readonly #open = new Set<number>();

  transform(chunk: Chunk, controller: StreamController): void {
    if (this.#open.size === 0 && !chunk.choices.some(({ delta }) => hasReasoning(delta)))
      return controller.enqueue(chunk);
    const { choices, usage } = chunk;
    const closings: ChunkChoice[] = [];
    const joined = choices.map(choice => this.#joinChoice(choice, closings));
    const parts = closings.length > 0 ? [closings, joined] : [joined];
    for (const part of parts) controller.enqueue(usage ? { choices: part, usage } : { choices: part });
  }

  #joinChoice(choice: ChunkChoice, closings: ChunkChoice[]): ChunkChoice {
    const { index } = choice;
    const { reasoning, ...delta } = withoutTexts(choice.delta);
    let text = '';
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
