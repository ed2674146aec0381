import type { Chunk } from '../canonical.ts';

/** What a stage does to a stream where it needs to wait for nothing but the next chunk. */
export interface ChunkTransform {
  /** What becomes of a chunk: itself or another, several, or none. */
  chunk(chunk: Chunk): Chunk | readonly Chunk[];
  /** What is held back, given out at the end, or before a fault of what is below is rethrown. */
  rest(isFault: boolean): readonly Chunk[];
}

/** Sees how long a transform takes, what it throws, and its end. */
export interface TransformClock {
  ran(own_ms: number): void;
  refused(thrown: unknown): void;
  finish(): void;
}

interface Layer {
  readonly transform: ChunkTransform;
  readonly clock: TransformClock | undefined;
}

/**
 * A stream through `transform`. Does what an async generator around it would, at a third of the promises; and the chain runs
 * transforms that stand one above the other in one turn.
 */
export function transformed(chunks: AsyncIterable<Chunk>, transform: ChunkTransform): AsyncIterable<Chunk> {
  return new TransformedStream(chunks).through(transform, undefined);
}

const ended = { value: undefined, done: true } as const;

/** A stream through transforms, the first the nearest to the upstream. A plain iterator: it runs for every chunk of every stream. */
export class TransformedStream implements AsyncIterableIterator<Chunk> {
  /** What is read. */
  readonly below: AsyncIterable<Chunk>;
  readonly #source: AsyncIterator<Chunk>;
  readonly #layers: Layer[] = [];
  /** Chunks that are ready, from `#at` on. */
  #ready: readonly Chunk[] = [];
  #at = 0;
  #over = false;
  #fault: { readonly thrown: unknown } | undefined;

  constructor(below: AsyncIterable<Chunk>) {
    this.below = below;
    this.#source = below[Symbol.asyncIterator]();
  }

  /** Adds a transform above those that are there. */
  through(transform: ChunkTransform, clock: TransformClock | undefined): this {
    this.#layers.push({ transform, clock });
    return this;
  }

  /** The transforms, for a chain that makes one stream of several. */
  get transforms(): readonly ChunkTransform[] {
    return this.#layers.map(({ transform }) => transform);
  }

  next(): Promise<IteratorResult<Chunk>> {
    if (this.#at < this.#ready.length)
      return Promise.resolve({ value: this.#ready[this.#at++]!, done: false });
    if (!this.#over) return this.#source.next().then(this.#received, this.#failed);
    const fault = this.#fault;
    this.#fault = undefined;
    return fault ? Promise.reject(fault.thrown) : Promise.resolve(ended);
  }

  async return(): Promise<IteratorResult<Chunk>> {
    this.#close();
    this.#fault = undefined;
    this.#ready = [];
    await this.#source.return?.();
    return ended;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  readonly #received = (
    result: IteratorResult<Chunk>,
  ): IteratorResult<Chunk> | Promise<IteratorResult<Chunk>> => {
    if (this.#over) return ended;
    if (result.done) return this.#finish(0, undefined);
    let out: Chunk | readonly Chunk[] = result.value;
    let mark_ms = performance.now();
    for (let at = 0; at < this.#layers.length; at++) {
      const { transform, clock } = this.#layers[at]!;
      try {
        out = applied(transform, out);
      } catch (thrown) {
        return this.#broken(at, thrown);
      }
      if (!clock) continue;
      const now_ms = performance.now();
      clock.ran(now_ms - mark_ms);
      mark_ms = now_ms;
    }
    if (!isSeveral(out)) return { value: out, done: false };
    this.#ready = out;
    this.#at = 0;
    return this.next();
  };

  readonly #failed = (thrown: unknown): Promise<IteratorResult<Chunk>> =>
    this.#over ? Promise.resolve(ended) : this.#finish(0, { thrown });

  /** Nothing more comes from below the layer `from`: what it and those above hold back, then the fault if there is one. */
  #finish(from: number, fault: { readonly thrown: unknown } | undefined): Promise<IteratorResult<Chunk>> {
    let ready: readonly Chunk[] = [];
    this.#fault = fault;
    for (const { transform, clock } of this.#layers.slice(from)) {
      try {
        ready = [
          ...ready.flatMap(chunk => transform.chunk(chunk)),
          ...transform.rest(this.#fault !== undefined),
        ];
      } catch (thrown) {
        clock?.refused(thrown);
        this.#fault = { thrown };
        ready = [];
      }
    }
    this.#close();
    this.#ready = ready;
    this.#at = 0;
    return this.next();
  }

  /** A layer itself threw: nothing of what is below is wanted any longer, those above end as at any fault. */
  async #broken(at: number, thrown: unknown): Promise<IteratorResult<Chunk>> {
    this.#layers[at]?.clock?.refused(thrown);
    this.#over = true;
    await this.#source.return?.();
    return this.#finish(at + 1, { thrown });
  }

  #close(): void {
    this.#over = true;
    for (const { clock } of this.#layers) clock?.finish();
  }
}

function applied(transform: ChunkTransform, out: Chunk | readonly Chunk[]): Chunk | readonly Chunk[] {
  return isSeveral(out) ? out.flatMap(chunk => transform.chunk(chunk)) : transform.chunk(out);
}

const isSeveral = (out: Chunk | readonly Chunk[]): out is readonly Chunk[] => Array.isArray(out);
