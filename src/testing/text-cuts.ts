import type { Chunk, ChunkChoice, Delta } from '../gateway/exchange/canonical.ts';

/** One place in the texts of a stream: before this character of this text of this chunk. */
interface TextPlace {
  readonly chunk: number;
  readonly choice: number;
  readonly kind: 'reasoning' | 'content' | 'refusal' | 'arguments';
  /** The position of the tool call in its delta. */
  readonly call: number;
  /** In UTF-16 units, never inside a character. */
  readonly at: number;
}

const kinds = ['reasoning', 'content', 'refusal'] as const;

/** Every place inside a text of `chunks`. */
export function* placesIn(chunks: readonly Chunk[]): Generator<TextPlace> {
  for (const [chunk, { choices }] of chunks.entries()) {
    for (const [choice, { delta }] of choices.entries()) {
      for (const kind of kinds) {
        for (const at of positionsIn(delta[kind])) yield { chunk, choice, kind, call: 0, at };
      }
      for (const [call, { function: called }] of (delta.tool_calls ?? []).entries()) {
        for (const at of positionsIn(called?.arguments)) yield { chunk, choice, kind: 'arguments', call, at };
      }
    }
  }
}

function* positionsIn(text: string | null | undefined): Generator<number> {
  let at = 0;
  for (const character of text ?? '') {
    if (at > 0) yield at;
    at += character.length;
  }
}

/** In words, for messages. */
export const placeName = ({ chunk, choice, kind, at }: TextPlace): string =>
  `${kind} of chunk ${chunk}, choice ${choice}, at character ${at}`;

/** The chunks with the one at `place` in two, as if the server had sent the text in two pieces there. */
export function cutAt(chunks: readonly Chunk[], place: TextPlace): Chunk[] {
  return chunks.flatMap((chunk, at) => (at === place.chunk ? inTwo(chunk, place) : [chunk]));
}

/** The chunks with every character of every text in a chunk of its own. */
export function cutEverywhere(chunks: readonly Chunk[]): Chunk[] {
  return chunks.flatMap(chunk => {
    const pieces = [chunk];
    for (let [first] = placesIn(pieces); first; [first] = placesIn(pieces.slice(-1)))
      pieces.push(...inTwo(pieces.pop()!, first));
    return pieces;
  });
}

function inTwo({ choices, usage }: Chunk, place: TextPlace): [Chunk, Chunk] {
  const choice = choices[place.choice]!;
  const [before, after] = deltaInTwo(choice.delta, place);
  const first: ChunkChoice = { index: choice.index, delta: before, finish_reason: null };
  const rest = choices.map((other, at) => (at === place.choice ? { ...other, delta: after } : other));
  return [{ choices: [first] }, usage ? { choices: rest, usage } : { choices: rest }];
}

/** Cuts a delta at `place`, in the order in which it is read: role, reasoning, content, refusal, tool calls. */
function deltaInTwo({ role, tool_calls, ...texts }: Delta, { kind, call, at }: TextPlace): [Delta, Delta] {
  const before: Delta = role ? { role } : {};
  const after: Delta = {};
  let isBefore = true;
  for (const name of kinds) {
    const text = texts[name];
    if (name === kind) {
      isBefore = false;
      before[name] = text!.slice(0, at);
      after[name] = text!.slice(at);
    } else if (text != null) (isBefore ? before : after)[name] = text;
  }
  if (!tool_calls) return [before, after];
  if (kind !== 'arguments') return [before, { ...after, tool_calls }];
  const cut = tool_calls[call]!;
  const text = cut.function?.arguments ?? '';
  const begin = { ...cut, function: { ...cut.function, arguments: text.slice(0, at) } };
  const rest = { index: cut.index, function: { arguments: text.slice(at) } };
  before.tool_calls = [...tool_calls.slice(0, call), begin];
  after.tool_calls = [rest, ...tool_calls.slice(call + 1)];
  return [before, after];
}
