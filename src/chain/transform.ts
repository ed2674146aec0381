import type { Chunk } from '../canonical.ts';
import { type ChunkSink, type Flow, type FlowingStream, flowInto } from '../flow.ts';

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

/** Thrown when a layer throws; says which. */
class TransformError {
  readonly layer: number;
  readonly thrown: unknown;

  constructor(layer: number, thrown: unknown) {
    this.layer = layer;
    this.thrown = thrown;
  }
}

/** A stream through transforms, the first the nearest to the upstream. A plain iterator: it runs for every chunk of every stream. */
export class TransformedStream implements AsyncIterableIterator<Chunk>, FlowingStream {
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

  flowInto(sink: ChunkSink): Flow | undefined {
    const flow = flowInto(this.below, {
      chunk: chunk => this.#pour(chunk, sink, flow),
      flush: () => sink.flush(),
      end: () => this.#empty(0, undefined, sink),
      fail: thrown => this.#empty(0, { thrown }, sink),
    });
    if (!flow) return undefined;
    return {
      resume: () => flow.resume(),
      stop: () => {
        this.#close();
        flow.stop();
      },
    };
  }

  readonly #received = (
    result: IteratorResult<Chunk>,
  ): IteratorResult<Chunk> | Promise<IteratorResult<Chunk>> => {
    if (this.#over) return ended;
    if (result.done) return this.#finish(0, undefined);
    let out: Chunk | readonly Chunk[];
    try {
      out = this.#through(result.value);
    } catch (broken) {
      return this.#broken(broken as TransformError);
    }
    if (!isSeveral(out)) return { value: out, done: false };
    this.#ready = out;
    this.#at = 0;
    return this.next();
  };

  readonly #failed = (thrown: unknown): Promise<IteratorResult<Chunk>> =>
    this.#over ? Promise.resolve(ended) : this.#finish(0, { thrown });

  /** One chunk through all layers. Throws nothing but a `TransformError`. */
  #through(chunk: Chunk): Chunk | readonly Chunk[] {
    let out: Chunk | readonly Chunk[] = chunk;
    let mark_ms = performance.now();
    for (let at = 0; at < this.#layers.length; at++) {
      const { transform, clock } = this.#layers[at]!;
      try {
        out = applied(transform, out);
      } catch (thrown) {
        throw new TransformError(at, thrown);
      }
      if (!clock) continue;
      const now_ms = performance.now();
      clock.ran(now_ms - mark_ms);
      mark_ms = now_ms;
    }
    return out;
  }

  #pour(chunk: Chunk, sink: ChunkSink, flow: Flow | undefined): void {
    let out: Chunk | readonly Chunk[];
    try {
      out = this.#through(chunk);
    } catch (broken) {
      const { layer, thrown } = broken as TransformError;
      this.#layers[layer]?.clock?.refused(thrown);
      flow?.stop();
      return this.#empty(layer + 1, { thrown }, sink);
    }
    if (isSeveral(out)) for (const one of out) sink.chunk(one);
    else sink.chunk(out);
  }

  /** The end, into a sink. */
  #empty(from: number, fault: { readonly thrown: unknown } | undefined, sink: ChunkSink): void {
    for (const chunk of this.#rest(from, fault)) sink.chunk(chunk);
    sink.flush();
    if (this.#fault) sink.fail(this.#fault.thrown);
    else sink.end();
  }

  #finish(from: number, fault: { readonly thrown: unknown } | undefined): Promise<IteratorResult<Chunk>> {
    this.#ready = this.#rest(from, fault);
    this.#at = 0;
    return this.next();
  }

  /**
   * Nothing more comes from below the layer `from`: what it and those above hold back. The fault, if there is one, is told after that; it
   * may be another when a layer throws here.
   */
  #rest(from: number, fault: { readonly thrown: unknown } | undefined): readonly Chunk[] {
    let rest: readonly Chunk[] = [];
    this.#fault = fault;
    for (const { transform, clock } of this.#layers.slice(from)) {
      try {
        rest = [
          ...rest.flatMap(chunk => transform.chunk(chunk)),
          ...transform.rest(this.#fault !== undefined),
        ];
      } catch (thrown) {
        clock?.refused(thrown);
        this.#fault = { thrown };
        rest = [];
      }
    }
    this.#close();
    return rest;
  }

  /** A layer itself threw: nothing of what is below is wanted any longer, those above end as at any fault. */
  async #broken({ layer, thrown }: TransformError): Promise<IteratorResult<Chunk>> {
    this.#layers[layer]?.clock?.refused(thrown);
    this.#over = true;
    try {
      await this.#source.return?.();
    } catch {
      // As where a loop is left by a throw: what was thrown first is the fault.
    }
    return this.#finish(layer + 1, { thrown });
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
