import { isObject, type Json } from '../../../common/json-object.ts';
import type { Chunk, ChunkChoice, Completion, ReasoningDetail } from '../../exchange/canonical.ts';
import { chunkOf } from './decode-reply.ts';
import type { StreamReaderOwner } from './stream-reader.ts';

/** The most characters of a text in one chunk. */
const piece_characters = 16_384;
/** Log probabilities of the most tokens in one chunk; with twenty alternatives each they have 50 kB. */
const piece_tokens = 64;
/** What a call, a detail or a token counts at least, in characters. */
const object_characters = 256;

/** Chunks that are passed on in one turn of the event loop. */
export const chunks_per_turn = 16;

/**
 * A whole reply as the chunks of a stream, none of them large; nearly every reply is one. Each has the usage: the upstream has generated
 * the whole, however much of it the client reads.
 */
export function* chunksOf(reply: Completion): Generator<Chunk> {
  const whole = chunkOf(reply);
  if (sizeOf(whole.choices) <= piece_characters) yield whole;
  else
    for (const choice of whole.choices)
      for (const piece of piecesOf(choice)) yield { ...whole, choices: [piece] };
}

/** Size of what the choices say, in characters. */
function sizeOf(choices: readonly ChunkChoice[]): number {
  let size = 0;
  for (const { delta, logprobs } of choices) {
    const { content, reasoning, refusal, tool_calls = [], reasoning_details = [] } = delta;
    for (const text of [content, reasoning, refusal]) size += text?.length ?? 0;
    for (const call of tool_calls) size += object_characters + (call.function?.arguments?.length ?? 0);
    for (const detail of reasoning_details) size += object_characters + charactersOf(detail);
    if (delta.native || delta.images) size += JSON.stringify([delta.native, delta.images]).length;
    size += object_characters * tokensIn(logprobs);
  }
  return size;
}

/** One choice in pieces: reasoning, its details, text, a refusal, calls, and the finish reason last. */
function* piecesOf(whole: ChunkChoice): Generator<ChunkChoice> {
  const { index, delta, finish_reason, stop_sequence, logprobs } = whole;
  const piece = (delta: ChunkChoice['delta'], more: object = {}): ChunkChoice => ({
    index,
    delta,
    finish_reason: null,
    ...more,
  });
  for (const reasoning of cut(delta.reasoning)) yield piece({ reasoning });
  for (const detail of delta.reasoning_details ?? []) yield piece({ reasoning_details: [detail] });
  for (const native of delta.native ?? []) yield piece({ native: [native] });
  if (logprobs == null) for (const content of cut(delta.content)) yield piece({ content });
  else for (const [said, more] of cutWithTokens(delta.content ?? '', logprobs)) yield piece(said, more);
  for (const refusal of cut(delta.refusal)) yield piece({ refusal });
  if (delta.annotations) yield piece({ annotations: delta.annotations });
  for (const image of delta.images ?? []) yield piece({ images: [image] });
  for (const { function: called, ...call } of delta.tool_calls ?? []) {
    const [first = '', ...rest] = cut(called?.arguments);
    yield piece({ tool_calls: [{ ...call, function: { ...called, arguments: first } }] });
    for (const more of rest)
      yield piece({ tool_calls: [{ index: call.index, function: { arguments: more } }] });
  }
  yield piece({}, { finish_reason, ...(stop_sequence !== undefined && { stop_sequence }) });
}

/** The pieces of a text; none of one that is empty. */
function* cut(text: string | null | undefined): Iterable<string> {
  if (!text) return;
  for (let at = 0; at < text.length; ) {
    const end = boundary(text, at + piece_characters);
    yield text.slice(at, end);
    at = end;
  }
}

/** Pieces of a text, each with its share of the log probabilities: some formats show those only beside text. */
function* cutWithTokens(text: string, logprobs: unknown): Generator<[ChunkChoice['delta'], object]> {
  const wanted = Math.max(
    Math.ceil(text.length / piece_characters),
    Math.ceil(tokensIn(logprobs) / piece_tokens),
  );
  // Two characters are the fewest of which a boundary leaves one.
  const pieces = Math.max(1, text === '' ? wanted : Math.min(wanted, Math.floor(text.length / 2)));
  for (let at = 0; at < pieces; at++) {
    const from = boundary(text, Math.floor((text.length * at) / pieces));
    const to = boundary(text, Math.floor((text.length * (at + 1)) / pieces));
    const content = text.slice(from, to);
    yield [content === '' ? {} : { content }, { logprobs: shareOf(logprobs, at, pieces) }];
  }
}

/** The share of each list of log probabilities in piece `at`. What is no list is in the first. */
function shareOf(logprobs: unknown, at: number, pieces: number): unknown {
  if (!isObject(logprobs)) return at === 0 ? logprobs : undefined;
  const share: Json = {};
  for (const [name, list] of Object.entries(logprobs)) {
    if (Array.isArray(list))
      share[name] = list.slice(
        Math.floor((list.length * at) / pieces),
        Math.floor((list.length * (at + 1)) / pieces),
      );
    else if (at === 0 || list === null) share[name] = list;
  }
  return share;
}

const tokensIn = (logprobs: unknown): number =>
  isObject(logprobs)
    ? Math.max(0, ...Object.values(logprobs).map(list => (Array.isArray(list) ? list.length : 0)))
    : 0;

const charactersOf = ({ text, summary, data }: ReasoningDetail): number =>
  [text, summary, data].reduce<number>((sum, said) => sum + (typeof said === 'string' ? said.length : 0), 0);

/** `at`, or the place before it if a character of two code units is there. */
function boundary(text: string, at: number): number {
  const before = text.charCodeAt(at - 1);
  return at < text.length && before >= 0xd800 && before <= 0xdbff ? at - 1 : at;
}

/**
 * Passes a whole reply on to a stream, some chunks in each turn of the event loop and none while the client does not read: a reply of many
 * megabytes would hold up all others while it is written, and stand in memory as text a second time.
 */
export class WholeReply {
  readonly #chunks: Generator<Chunk>;
  readonly #owner: StreamReaderOwner;
  #next: NodeJS.Immediate | undefined;
  #isOver = false;

  constructor(reply: Completion, owner: StreamReaderOwner) {
    this.#chunks = chunksOf(reply);
    this.#owner = owner;
  }

  /** Passes on what belongs to this turn: of most replies all, and the end. */
  readonly give = (): void => {
    this.#next = undefined;
    if (this.#isOver) return;
    try {
      const batch: Chunk[] = [];
      for (let chunk = this.#chunks.next(); !chunk.done; chunk = this.#chunks.next()) {
        batch.push(chunk.value);
        if (batch.length === chunks_per_turn) break;
      }
      const wantsMore = this.#owner.give(batch);
      if (this.#isOver) return;
      if (batch.length === chunks_per_turn) return wantsMore ? this.drained() : undefined;
      this.#isOver = true;
      this.#owner.finish();
    } catch (thrown) {
      this.#fail(thrown);
    }
  };

  /** Goes on in another turn, because all chunks were taken. */
  drained(): void {
    if (!this.#isOver) this.#next ??= setImmediate(this.give);
  }

  /** Passes on nothing more. Before the end that is a fault, as of a call that is cancelled. */
  close(): void {
    this.#fail(new Error('the reply is not read on'));
  }

  #fail(thrown: unknown): void {
    if (this.#isOver) return;
    this.#isOver = true;
    clearImmediate(this.#next);
    this.#owner.fault(thrown, false);
  }
}
