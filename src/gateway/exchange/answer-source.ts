import { setImmediate } from 'node:timers/promises';
import { chunks_per_turn, chunksOf } from '../upstream/http/whole-reply.ts';
import { incomplete, ReplyAssembler } from './assemble-reply.ts';
import type { Chunk, Completion } from './canonical.ts';
import { refusal } from './errors.ts';
import type { Exchange } from './exchange.ts';
import { discardAnswer } from './hook-result.ts';
import { pushIterable } from './push-iterable.ts';
import type { ReplySource } from './reply-source.ts';
import type { Answer } from './stage.ts';
import type { ChunkSource } from './stream.ts';

/** Reply made from a stage's answer, streamed or whole as the client asked. Ends when the exchange aborts, whatever the stage waits for. */
export class AnswerSource implements ReplySource {
  readonly outlivesClient = false;
  readonly #answer: Answer;
  readonly #expectChunk: (chunk: unknown) => void;
  #ended = false;
  /** True once the iterator of a stream exists, which closes the stream at the end. */
  #isRead = false;
  /** Rejects the pending read. */
  #interrupt: (() => void) | undefined;

  /** `expectChunk` throws for what is no chunk. */
  constructor(exchange: Exchange, answer: Answer, expectChunk: (chunk: unknown) => void) {
    this.#answer = answer;
    this.#expectChunk = expectChunk;
    exchange.onAbort(() => this.cancel());
  }

  async reply(): Promise<Completion> {
    if (!isStream(this.#answer)) {
      this.#ended = true;
      return this.#answer;
    }
    const assembler = new ReplyAssembler();
    for await (const chunk of this.#chunks()) assembler.add(chunk);
    return assembler.reply();
  }

  stream(): ChunkSource {
    return pushIterable(this.#chunks());
  }

  get ended(): boolean {
    return this.#ended;
  }

  cancel(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#interrupt?.();
    if (!this.#isRead) discardAnswer(this.#answer);
  }

  /**
   * Yields the chunks of the answer; throws at the end if a choice has not finished. Each read races with the end of the exchange, since a
   * stage may wait forever.
   */
  async *#chunks(): AsyncGenerator<Chunk> {
    this.#isRead = true;
    const chunks = isStream(this.#answer) ? this.#answer : inTurns(chunksOf(this.#answer));
    const iterator =
      Symbol.asyncIterator in chunks ? chunks[Symbol.asyncIterator]() : chunks[Symbol.iterator]();
    const finished = new Map<number, boolean>();
    let result: IteratorResult<Chunk> | undefined;
    try {
      for (result = await this.#next(iterator); !result.done; result = await this.#next(iterator)) {
        this.#expectChunk(result.value);
        for (const { index, finish_reason } of result.value.choices)
          finished.set(index, finish_reason !== null || finished.get(index) === true);
        yield result.value;
      }
    } finally {
      // Not awaited: a generator that is suspended at an await returns only after that. A failure to close does not hide why it is closed.
      if (!result?.done) (async () => iterator.return?.())().catch(() => {});
    }
    this.#ended = true;
    if (finished.size === 0 || [...finished.values()].includes(false)) throw incomplete();
  }

  #next(iterator: AsyncIterator<Chunk> | Iterator<Chunk>): Promise<IteratorResult<Chunk>> {
    return new Promise((resolve, reject) => {
      if (this.#ended) return reject(refusal('server_error'));
      this.#interrupt = () => reject(refusal('server_error'));
      Promise.resolve(iterator.next()).then(resolve, reject);
    });
  }
}

const isStream = (answer: Answer): answer is AsyncIterable<Chunk> | Iterable<Chunk> =>
  Symbol.asyncIterator in answer || Symbol.iterator in answer;

/** `chunks`, some in each turn of the event loop. */
async function* inTurns(chunks: Iterable<Chunk>): AsyncGenerator<Chunk> {
  let given = 0;
  for (const chunk of chunks) {
    if (given++ % chunks_per_turn === chunks_per_turn - 1) await setImmediate();
    yield chunk;
  }
}
