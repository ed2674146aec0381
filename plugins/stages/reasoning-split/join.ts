import type {
  Chunk,
  ChunkChoice,
  Completion,
  ReplyMessage,
  StreamController,
  StreamTransformer,
} from '../../../src/plugin.ts';

/** Puts reasoning that the upstream has separated back into the text, between tags. */
export function joinReply(reply: Completion): Completion {
  if (!reply.choices.some(({ message }) => message.reasoning !== undefined)) return reply;
  return {
    ...reply,
    choices: reply.choices.map(choice => ({ ...choice, message: joinMessage(choice.message) })),
  };
}

function joinMessage({ reasoning, ...message }: ReplyMessage): ReplyMessage {
  if (!reasoning) return message;
  // A reply that ended while reasoning keeps its tag open, as in the model's own text.
  const closing = message.content || message.tool_calls ? '</think>' : '';
  return { ...message, content: `<think>${reasoning}${closing}${message.content ?? ''}` };
}

/** Joins a stream, each choice by itself. Holds nothing back; a stream that ends in reasoning keeps its tag open. */
export class StreamJoiner implements StreamTransformer {
  readonly #open = new Set<number>();

  transform(chunk: Chunk, controller: StreamController): void {
    if (this.#open.size === 0 && !chunk.choices.some(({ delta }) => delta.reasoning !== undefined))
      return controller.enqueue(chunk);
    const { choices, usage } = chunk;
    const closings: ChunkChoice[] = [];
    const joined = choices.map(choice => this.#joinChoice(choice, closings));
    const parts = closings.length > 0 ? [closings, joined] : [joined];
    for (const part of parts) controller.enqueue(usage ? { choices: part, usage } : { choices: part });
  }

  #joinChoice(choice: ChunkChoice, closings: ChunkChoice[]): ChunkChoice {
    const { index } = choice;
    const { reasoning, ...delta } = choice.delta;
    let text = '';
    if (reasoning) {
      if (!this.#open.has(index)) text += '<think>';
      this.#open.add(index);
      text += reasoning;
    }
    if (delta.content && this.#open.delete(index)) text += '</think>';
    text += delta.content ?? '';
    if (delta.tool_calls && this.#open.delete(index)) {
      closings.push({ index, delta: { content: `${text}</think>` }, finish_reason: null });
      text = '';
    }
    if (text !== '') delta.content = text;
    return { ...choice, delta };
  }
}
