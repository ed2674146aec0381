import type { Chunk, ChunkChoice, Delta, StreamTransformer } from '../../../src/plugin.ts';

/** Cuts text longer than `characters`, never inside a character; the last piece keeps everything else of the chunk. */
export function splitOversized(characters: number): StreamTransformer {
  return {
    transform(chunk, controller) {
      if (!chunk.choices.some(({ delta }) => isOversized(delta, characters))) controller.enqueue(chunk);
      else for (const piece of pieces(chunk, characters)) controller.enqueue(piece);
    },
  };
}

const isOversized = ({ content, reasoning }: Delta, characters: number): boolean =>
  (content?.length ?? 0) > characters || (reasoning?.length ?? 0) > characters;

function* pieces({ choices, usage }: Chunk, characters: number): Generator<Chunk> {
  const last: ChunkChoice[] = [];
  for (const choice of choices) {
    const { index, delta } = choice;
    const rest: Delta = { ...delta };
    for (const kind of ['reasoning', 'content'] as const) {
      const parts = cut(delta[kind] ?? '', characters);
      // Content must not overtake reasoning in the same chunk.
      const keep = kind === 'content' || !delta.content ? parts.pop() : undefined;
      for (const text of parts) yield { choices: [{ index, delta: { [kind]: text }, finish_reason: null }] };
      if (keep === undefined) delete rest[kind];
      else rest[kind] = keep;
    }
    last.push({ ...choice, delta: rest });
  }
  yield usage ? { choices: last, usage } : { choices: last };
}

function cut(text: string, characters: number): string[] {
  const parts: string[] = [];
  for (let from = 0; from < text.length; ) {
    let to = Math.min(from + characters, text.length);
    // A surrogate pair is one character.
    if (to < text.length && isHighSurrogate(text.charCodeAt(to - 1))) to += to - from > 1 ? -1 : 1;
    parts.push(text.slice(from, to));
    from = to;
  }
  return parts;
}

const isHighSurrogate = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdbff;
