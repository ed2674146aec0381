import type { Chunk, ChunkChoice, Completion, ReplyMessage } from '../../../src/plugin.ts';

/** Reasoning that the upstream separated goes back into the text, between tags (protocol f12). */
export function joinReply(reply: Completion): Completion {
  if (!reply.choices.some(({ message }) => message.reasoning !== undefined)) return reply;
  return {
    ...reply,
    choices: reply.choices.map(choice => ({ ...choice, message: joinMessage(choice.message) })),
  };
}

function joinMessage({ reasoning, ...message }: ReplyMessage): ReplyMessage {
  if (!reasoning) return message;
  // Ended while reasoning: the tag stays open, as it would have in the model's own text.
  const closing = message.content || message.tool_calls ? '</think>' : '';
  return { ...message, content: `<think>${reasoning}${closing}${message.content ?? ''}` };
}

/** The same for a stream, each choice for itself. */
export class JoinedStream {
  readonly #open = new Set<number>();

  async *read(chunks: AsyncIterable<Chunk>): AsyncGenerator<Chunk> {
    for await (const chunk of chunks) {
      if (this.#open.size === 0 && !chunk.choices.some(({ delta }) => delta.reasoning !== undefined))
        yield chunk;
      else for (const piece of this.#join(chunk)) yield piece;
    }
  }

  *#join({ choices, usage }: Chunk): Generator<Chunk> {
    const closings: ChunkChoice[] = [];
    const joined = choices.map(choice => this.#joinChoice(choice, closings));
    if (closings.length > 0) yield usage ? { choices: closings, usage } : { choices: closings };
    yield usage ? { choices: joined, usage } : { choices: joined };
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
