import type { Chunk } from './canonical.ts';
import type { StreamController, StreamTransformer } from './stream.ts';

/**
 * Transformer from an async generator: `onStream: () => fromGenerator(async function* (chunks) { … })`. The upstream is paused until the
 * generator asks for the next chunk, and the generator until the client reads on; it is closed when the client leaves. On an upstream error
 * its input ends, and the error follows what it still yields. Costs a few promises per chunk.
 */
export function fromGenerator(
  generate: (chunks: AsyncIterable<Chunk>) => AsyncIterable<Chunk>,
): StreamTransformer {
  return new GeneratorTransformer(generate);
}

const ended = { value: undefined, done: true } as const;

class GeneratorTransformer implements StreamTransformer, AsyncIterableIterator<Chunk> {
  readonly #generate: (chunks: AsyncIterable<Chunk>) => AsyncIterable<Chunk>;
  #output: AsyncIterator<Chunk> | undefined;
  /** Resolves when the generator has ended; rejects with what it threw. */
  #finished: Promise<void> = Promise.resolve();
  #failed = false;
  /** The generator's pending reads. */
  #reads: ((result: IteratorResult<Chunk>) => void)[] = [];
  /** A chunk that the generator has not read yet. */
  #chunk: Chunk | undefined;
  #asked: { resolve(): void; reject(fault: unknown): void } | undefined;
  #inputEnded = false;

  constructor(generate: (chunks: AsyncIterable<Chunk>) => AsyncIterable<Chunk>) {
    this.#generate = generate;
  }

  start(controller: StreamController): Promise<void> {
    const asked = this.#untilAsked();
    this.#finished = this.#run(controller);
    // Reported by the waiting transform, the next one, or `flush`.
    this.#finished.catch(fault => {
      this.#failed = true;
      this.#asked?.reject(fault);
    });
    return asked;
  }

  transform(chunk: Chunk): void | Promise<void> {
    if (this.#failed) return this.#finished;
    const read = this.#reads.shift();
    if (!read) this.#chunk = chunk;
    else read({ value: chunk, done: false });
    if (this.#reads.length > 0) return;
    return this.#untilAsked();
  }

  flush(): Promise<void> {
    this.#endInput();
    return this.#finished;
  }

  cancel(): void {
    this.#endInput();
    // Its `finally` may take time, and nothing reads what it throws there.
    void (async () => this.#output?.return?.())().catch(() => {});
  }

  /** Called when the generator reads its input. */
  next(): Promise<IteratorResult<Chunk>> {
    const chunk = this.#chunk;
    this.#chunk = undefined;
    if (chunk) return Promise.resolve({ value: chunk, done: false });
    if (this.#inputEnded) return Promise.resolve(ended);
    this.#asked?.resolve();
    return new Promise(resolve => this.#reads.push(resolve));
  }

  async return(): Promise<IteratorResult<Chunk>> {
    this.#endInput();
    return ended;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /** Resolves when the generator reads again. */
  #untilAsked(): Promise<void> {
    return new Promise((resolve, reject) => (this.#asked = { resolve, reject }));
  }

  #endInput(): void {
    this.#inputEnded = true;
    for (const resolve of this.#reads) resolve(ended);
    this.#reads = [];
  }

  async #run(controller: StreamController): Promise<void> {
    this.#output = this.#generate(this)[Symbol.asyncIterator]();
    for (let result = await this.#output.next(); !result.done; result = await this.#output.next()) {
      controller.enqueue(result.value);
      await controller.ready();
    }
    controller.terminate();
    this.#asked?.resolve();
  }
}
