import type { Chunk } from '../exchange/canonical.ts';
import type { ChunkSink, ChunkSource, StreamHandle } from '../exchange/stream.ts';
import type { StreamMeter } from './stream-meter.ts';

type Meter = Pick<StreamMeter, 'chunk' | 'end'>;

/** Counts `source`: `meter` gets each chunk when the stages take it, and the end once. An error of `meter` fails the stream. */
export function metered(source: ChunkSource, meter: Meter): ChunkSource {
  return { pushInto: sink => new MeteredStream(source, meter, sink) };
}

/** Holds uncounted the chunks that arrive while a stage works on an earlier one: what no stage has taken is not billed. */
class MeteredStream implements ChunkSink, StreamHandle {
  readonly #stream: StreamHandle;
  readonly #meter: Meter;
  readonly #sink: ChunkSink;
  #waiting: Chunk[] = [];
  #ending: (() => void) | undefined;
  #isBusy = false;
  #isOver = false;

  constructor(source: ChunkSource, meter: Meter, sink: ChunkSink) {
    this.#meter = meter;
    this.#sink = sink;
    this.#stream = source.pushInto(this);
  }

  chunk(chunk: Chunk): boolean {
    if (this.#isOver) return false;
    if (this.#isBusy) this.#waiting.push(chunk);
    else this.#pass(chunk);
    return !this.#isBusy;
  }

  flush(): boolean {
    return this.#sink.flush() && !this.#isBusy;
  }

  end(): void {
    this.#end(() => this.#sink.end());
  }

  fail(fault: unknown): void {
    this.#end(() => this.#sink.fail(fault));
  }

  resume(): void {
    this.#isBusy = false;
    if (this.#waiting.length > 0) {
      const waiting = this.#waiting;
      this.#waiting = [];
      for (const chunk of waiting) this.chunk(chunk);
      if (!this.flush()) return;
    }
    if (this.#ending) this.#end(this.#ending);
    else if (!this.#isOver) this.#stream.resume();
  }

  stop(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#stream.stop();
    this.#meter.end();
  }

  #pass(chunk: Chunk): void {
    try {
      this.#meter.chunk(chunk);
    } catch (thrown) {
      this.#isOver = true;
      this.#stream.stop();
      this.#sink.fail(thrown);
      return;
    }
    this.#isBusy = !this.#sink.chunk(chunk);
  }

  #end(tell: () => void): void {
    if (this.#isOver) return;
    this.#ending = tell;
    if (this.#waiting.length > 0) return;
    this.#isOver = true;
    try {
      this.#meter.end();
    } catch (thrown) {
      return this.#sink.fail(thrown);
    }
    tell();
  }
}
