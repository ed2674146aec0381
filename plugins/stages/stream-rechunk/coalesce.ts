import type { Chunk, ChunkChoice, StreamController, StreamTransformer } from '../../../src/plugin.ts';

type Kind = 'content' | 'reasoning';

/** Held text of one choice and kind. */
interface Held {
  readonly index: number;
  readonly kind: Kind;
  text: string;
}

/**
 * Joins small pieces of text until they have `characters`, or until the first has waited `ms`. Never holds back the first piece of a
 * choice, never joins across reasoning, content, tool calls or choices, and releases everything at the end.
 */
export class Coalescer implements StreamTransformer {
  readonly #characters: number;
  readonly #ms: number;
  readonly #cut: StreamTransformer | undefined;
  /** Choices whose first text has been passed on. */
  readonly #begun = new Set<number>();
  #held: Held | undefined;
  #timer: NodeJS.Timeout | undefined;

  /** `cut` receives the joined text instead of the stream. */
  constructor(characters: number, ms: number, cut?: StreamTransformer) {
    this.#characters = characters;
    this.#ms = ms;
    this.#cut = cut;
  }

  transform(chunk: Chunk, controller: StreamController): void {
    const piece = textPiece(chunk);
    const held = this.#held;
    if (held && (held.index !== piece?.index || held.kind !== piece.kind)) this.flush(controller);
    if (!piece || !this.#begun.has(piece.index)) {
      if (piece) this.#begun.add(piece.index);
      return this.#pass(chunk, controller);
    }
    if (this.#held) this.#held.text += piece.text;
    else {
      this.#held = piece;
      this.#timer = setTimeout(() => this.flush(controller), this.#ms);
    }
    if (this.#held.text.length >= this.#characters) this.flush(controller);
  }

  flush(controller: StreamController): void {
    clearTimeout(this.#timer);
    if (!this.#held) return;
    const { index, kind, text } = this.#held;
    this.#held = undefined;
    this.#pass({ choices: [{ index, delta: { [kind]: text }, finish_reason: null }] }, controller);
  }

  cancel(): void {
    clearTimeout(this.#timer);
  }

  #pass(chunk: Chunk, controller: StreamController): void {
    if (this.#cut) this.#cut.transform(chunk, controller);
    else controller.enqueue(chunk);
  }
}

/** The text of a chunk that has only one choice's text; undefined for any other, which is passed on unchanged. */
function textPiece({ choices }: Chunk): Held | undefined {
  if (choices.length !== 1) return undefined;
  const { index, delta, finish_reason, logprobs } = choices[0] as ChunkChoice;
  if (finish_reason || logprobs != null || delta.tool_calls || delta.refusal || delta.role) return undefined;
  if (delta.reasoning_details) return undefined;
  if (delta.content && delta.reasoning) return undefined;
  if (delta.content) return { index, kind: 'content', text: delta.content };
  return delta.reasoning ? { index, kind: 'reasoning', text: delta.reasoning } : undefined;
}
