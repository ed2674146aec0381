import type { Chunk } from '../canonical.ts';
import { type ChunkSink, type Flow, type FlowingStream, flowInto } from '../flow.ts';
import type { StageTimes } from './instrument.ts';
import { TransformedStream } from './transform.ts';

/**
 * One stage's own time in one stream: it runs while the stage is asked for a chunk and does not itself wait for one from below. A
 * stage that reads ahead waits for both at once, and that is no time of its own.
 */
class StageClock {
  readonly #times: StageTimes;
  readonly #index: number;
  readonly #start_ms = performance.now();
  #own_ms = 0;
  #mark_ms = this.#start_ms;
  #running = true;
  #asked = true;
  #waiting = 0;
  #finished = false;

  constructor(times: StageTimes, index: number) {
    this.#times = times;
    this.#index = index;
  }

  /** The layer above wants a chunk, or has it. */
  asked(asked: boolean, now_ms: number): void {
    this.#asked = asked;
    this.#turn(now_ms);
  }

  /** The stage wants a chunk from the layer below (+1), or has it (-1). */
  waits(change: 1 | -1, now_ms: number): void {
    this.#waiting += change;
    this.#turn(now_ms);
  }

  #turn(now_ms: number): void {
    const running = this.#asked && this.#waiting === 0;
    if (running === this.#running) return;
    this.#running = running;
    if (running) this.#mark_ms = now_ms;
    else this.#own_ms += now_ms - this.#mark_ms;
  }

  /** The stage has run in another's turn. */
  ran(own_ms: number): void {
    this.#own_ms += own_ms;
  }

  finish(): void {
    if (this.#finished) return;
    this.#finished = true;
    this.#times.add(this.#index, 'onStream', this.#own_ms);
    this.#times.span(this.#index, 'onStream', this.#start_ms, performance.now(), this.#own_ms);
  }

  refused(thrown: unknown): void {
    this.#times.refused(this.#index, 'onStream', thrown);
  }
}

/**
 * The seam between two layers of a stream: the one that is read and the one that reads, each a stage or an end of the chain. Its
 * turns stop the reader's clock and start the other's, and back. A plain iterator with one `then`: it runs for every chunk.
 */
class Seam implements AsyncIterableIterator<Chunk>, FlowingStream {
  /** The stage that is read; none above the upstream, nor above transforms, which time themselves. */
  readonly #below: StageClock | undefined;
  /** What is read, for a stage that can read it without a seam. */
  readonly stream: AsyncIterable<Chunk>;
  readonly #source: AsyncIterator<Chunk>;
  /** The seam below the stage that is read: a fault that came through it is not that stage's. */
  readonly #seamBelow: Seam | undefined;
  /** The stage that reads; none below the client. */
  above: StageClock | undefined;
  fault: unknown;

  constructor(source: AsyncIterable<Chunk>, below: StageClock | undefined, seamBelow: Seam | undefined) {
    this.stream = source;
    this.#source = source[Symbol.asyncIterator]();
    this.#below = below;
    this.#seamBelow = seamBelow;
  }

  next(): Promise<IteratorResult<Chunk>> {
    const now_ms = performance.now();
    this.above?.waits(1, now_ms);
    this.#below?.asked(true, now_ms);
    return this.#source.next().then(this.#delivered, this.#failed);
  }

  /** Nothing is timed here. */
  get isBare(): boolean {
    return this.#below === undefined;
  }

  /** Transforms time themselves; any other stage has to be read for its time to be known. */
  flowInto(sink: ChunkSink): Flow | undefined {
    return this.isBare && !this.above ? flowInto(this.stream, sink) : undefined;
  }

  async return(): Promise<IteratorResult<Chunk>> {
    this.#below?.finish();
    return (await this.#source.return?.()) ?? { done: true, value: undefined };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  readonly #delivered = (result: IteratorResult<Chunk>): IteratorResult<Chunk> => {
    this.#turn();
    if (result.done) this.#below?.finish();
    return result;
  };

  readonly #failed = (thrown: unknown): never => {
    this.#turn();
    this.fault = thrown;
    this.#below?.finish();
    if (thrown !== this.#seamBelow?.fault) this.#below?.refused(thrown);
    throw thrown;
  };

  #turn(): void {
    const now_ms = performance.now();
    this.#below?.asked(false, now_ms);
    this.above?.waits(-1, now_ms);
  }
}

type OpenStage = (input: AsyncIterable<Chunk>) => AsyncIterable<Chunk>;

/** A stream on its way up through stages, each timed. */
export class TimedStream {
  readonly #times: StageTimes;
  /** Transforms that were put together here. */
  readonly #fused = new Set<TransformedStream>();
  #seam: Seam;

  constructor(times: StageTimes, source: AsyncIterable<Chunk>) {
    this.#times = times;
    this.#seam = new Seam(source, undefined, undefined);
  }

  /** The next stage up. Transforms are run together, in the turn in which a chunk comes. */
  through(index: number, open: OpenStage): void {
    const clock = new StageClock(this.#times, index);
    const below = this.#seam;
    below.above = clock;
    const output = this.#opened(clock, below, open);
    if (output === below) {
      // The stage wants nothing of this stream.
      below.above = undefined;
      clock.finish();
      return;
    }
    if (!(output instanceof TransformedStream) || output.below !== below) {
      this.#seam = new Seam(output, clock, below);
      return;
    }
    below.above = undefined;
    const fused = this.#fusedWith(below);
    for (const transform of output.transforms) fused.through(transform, clock);
    this.#seam = new Seam(fused, undefined, below);
  }

  /** Where a transform can be added: the transforms below it, or new ones that read what is below, without a seam that times nothing. */
  #fusedWith(below: Seam): TransformedStream {
    const { stream, isBare } = below;
    if (isBare && stream instanceof TransformedStream && this.#fused.has(stream)) return stream;
    const fused = new TransformedStream(isBare ? stream : below);
    this.#fused.add(fused);
    return fused;
  }

  #opened(clock: StageClock, below: Seam, open: OpenStage): AsyncIterable<Chunk> {
    try {
      return open(below);
    } catch (thrown) {
      clock.refused(thrown);
      clock.finish();
      throw thrown;
    } finally {
      clock.asked(false, performance.now());
    }
  }

  /** What the client's end reads. */
  get chunks(): AsyncIterable<Chunk> {
    return this.#seam;
  }
}
