import type { Chunk, ChunkChoice } from '../../../src/plugin.ts';

type Kind = 'content' | 'reasoning';

/** Text that is held back: one choice's, of one kind. */
interface Held {
  readonly index: number;
  readonly kind: Kind;
  text: string;
}

const late = Symbol('late');

/**
 * Joins small pieces of text until they have `characters`, or until the first of them has waited `ms`. The first piece of each
 * choice is never held back, nothing is joined across reasoning, content, tool calls or choices, and the end lets everything go.
 */
export async function* coalesced(
  chunks: AsyncIterable<Chunk>,
  characters: number,
  ms: number,
): AsyncGenerator<Chunk> {
  const source = chunks[Symbol.asyncIterator]();
  const joiner = new Joiner(characters);
  const timer = new WaitTimer(ms);
  try {
    let next = source.next();
    while (true) {
      const result = joiner.held ? await Promise.race([next, timer.from(joiner.since)]) : await next;
      if (result === late) {
        yield* joiner.release();
        continue;
      }
      if (result.done) break;
      for (const chunk of joiner.take(result.value)) yield chunk;
      next = source.next();
    }
    yield* joiner.release();
  } catch (fault) {
    yield* joiner.release();
    throw fault;
  } finally {
    timer.clear();
    await source.return?.();
  }
}

class Joiner {
  readonly #characters: number;
  /** Choices whose first text has gone out. */
  readonly #begun = new Set<number>();
  held: Held | undefined;
  /** Counts the pieces held anew, so that a timer can tell one from the next. */
  since = 0;

  constructor(characters: number) {
    this.#characters = characters;
  }

  *take(chunk: Chunk): Generator<Chunk> {
    const piece = textPiece(chunk);
    if (!piece) {
      yield* this.release();
      yield chunk;
      return;
    }
    const { index, kind, text } = piece;
    if (this.held && (this.held.index !== index || this.held.kind !== kind)) yield* this.release();
    if (!this.#begun.has(index)) {
      this.#begun.add(index);
      yield chunk;
      return;
    }
    if (this.held) this.held.text += text;
    else {
      this.held = piece;
      this.since++;
    }
    if (this.held.text.length >= this.#characters) yield* this.release();
  }

  *release(): Generator<Chunk> {
    if (!this.held) return;
    const { index, kind, text } = this.held;
    this.held = undefined;
    yield { choices: [{ index, delta: { [kind]: text }, finish_reason: null }] };
  }
}

/** The text of a chunk that is nothing but one choice's text; any other is passed on as it is. */
function textPiece({ choices }: Chunk): Held | undefined {
  if (choices.length !== 1) return undefined;
  const { index, delta, finish_reason, logprobs } = choices[0] as ChunkChoice;
  if (finish_reason || logprobs != null || delta.tool_calls || delta.refusal || delta.role) return undefined;
  if (delta.content && delta.reasoning) return undefined;
  if (delta.content) return { index, kind: 'content', text: delta.content };
  return delta.reasoning ? { index, kind: 'reasoning', text: delta.reasoning } : undefined;
}

/** One wait for each piece that is held back. */
class WaitTimer {
  readonly #ms: number;
  #timer: NodeJS.Timeout | undefined;
  #since = 0;
  #wait: Promise<typeof late> | undefined;

  constructor(ms: number) {
    this.#ms = ms;
  }

  /** The wait of the piece held `since`; asked again for the same piece, the same wait. */
  from(since: number): Promise<typeof late> {
    if (this.#wait && this.#since === since) return this.#wait;
    this.clear();
    this.#since = since;
    this.#wait = new Promise(resolve => {
      this.#timer = setTimeout(resolve, this.#ms, late);
    });
    return this.#wait;
  }

  clear(): void {
    clearTimeout(this.#timer);
    this.#wait = undefined;
  }
}
