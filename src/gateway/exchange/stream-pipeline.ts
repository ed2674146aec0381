import type { Chunk } from './canonical.ts';
import type { StageTimes } from './instrument.ts';
import { type LinkControl, StageLink, type StageTransformer } from './stage-link.ts';
import type { ChunkMeter, ChunkReceiver, ChunkSink, ChunkSource, StreamHandle } from './stream.ts';

/**
 * A stream through a meter and the transformers of an exchange, the first the nearest to the upstream. What is synchronous runs in the turn
 * in which the bytes came. Chunks that arrive while a stage works on an earlier one wait here, uncounted: what no stage has taken is not
 * billed. From the provider's socket to the client's these objects call one another for a chunk:
 *
 * 1. `UpstreamCall`: undici's handler; pauses and resumes the socket
 * 2. `StreamReader`: bytes to chunks, with the parser and the adapter's decoder
 * 3. `Attempt`: its span, times and end
 * 4. `AttemptStream`: holds chunks until the answer's first word, while another upstream could still be asked
 * 5. `StreamPipeline`: counts, and waits for stages
 * 6. `StageLink`, one for each stage that transforms this stream
 * 7. `StreamShape`: what the protocol promises, whatever the stages
 * 8. `StreamWriter`: the dialect's text, commit, heartbeat, back-pressure, write
 */
export class StreamPipeline implements StreamHandle, ChunkSink, LinkControl {
  busy = 0;
  now_ms = 0;
  /** Links, the nearest to the upstream first. */
  readonly #links: StageLink[] = [];
  readonly #source: StreamHandle;
  readonly #meter: ChunkMeter | undefined;
  readonly #first: ChunkReceiver;
  readonly #sink: ChunkSink;
  #waiting: Chunk[] = [];
  /** The end of the source, while chunks wait before it. */
  #ending: { readonly fault?: unknown } | undefined;
  #begun = false;
  /** True once nothing more is taken from the source. */
  #cut = false;
  #over = false;
  /** True while the sink has asked for a pause. */
  #full = false;
  /** True while the source is paused. */
  #paused = false;
  #flushScheduled = false;
  #ready: PromiseWithResolvers<void> | undefined;

  constructor(
    source: ChunkSource,
    meter: ChunkMeter | undefined,
    stages: readonly StageTransformer[],
    times: StageTimes,
    sink: ChunkSink,
  ) {
    this.#meter = meter;
    this.#sink = sink;
    let next: ChunkReceiver = sink;
    for (const stage of stages.toReversed()) {
      const link = new StageLink(stage, next, next === sink, this, times);
      this.#links.unshift(link);
      next = link;
    }
    this.#first = next;
    this.#source = source.pushInto(this);
  }

  chunk(chunk: Chunk): void {
    if (this.#cut) return;
    if (this.busy > 0 || this.#waiting.length > 0) return void this.#waiting.push(chunk);
    try {
      this.#meter?.chunk(chunk);
    } catch (thrown) {
      this.#cut = true;
      this.#source.stop();
      return this.#first.fail(thrown);
    }
    this.#first.chunk(chunk);
    if (this.busy > 0) this.#paused = true;
  }

  flush(): boolean {
    this.#full = !this.#sink.flush();
    this.#paused = this.#full || this.busy > 0;
    return !this.#paused;
  }

  end(): void {
    this.#end({});
  }

  fail(fault: unknown): void {
    this.#end({ fault });
  }

  resume(): void {
    this.#full = false;
    this.#ready?.resolve();
    this.#ready = undefined;
    if (!this.#begun) {
      this.#begun = true;
      this.#paused = true;
      for (const link of this.#links) link.start();
    }
    this.#continue();
  }

  stop(): void {
    this.#over = true;
    this.#cutSource();
    for (const link of this.#links) link.cancel();
  }

  stopBelow(link: StageLink): void {
    this.#cutSource();
    for (const below of this.#links) {
      if (below === link) return;
      below.cancel();
    }
  }

  ended(): void {
    this.#over = true;
  }

  flushSoon(): void {
    if (this.#flushScheduled) return;
    this.#flushScheduled = true;
    process.nextTick(this.#flushNow);
  }

  ready(): Promise<void> | undefined {
    if (this.#over) return undefined;
    // The source is resumed later: a stage that asks is at work.
    if (this.#flushScheduled) this.#full = !this.#sink.flush();
    if (!this.#full) return undefined;
    this.#ready ??= Promise.withResolvers();
    return this.#ready.promise;
  }

  #end(ending: { readonly fault?: unknown }): void {
    if (this.#cut) return;
    this.#ending = ending;
    if (this.#waiting.length > 0) return;
    this.#cut = true;
    try {
      this.#meter?.end();
    } catch (thrown) {
      return this.#first.fail(thrown);
    }
    if ('fault' in ending) this.#first.fail(ending.fault);
    else this.#first.end();
  }

  #cutSource(): void {
    if (this.#cut) return;
    this.#cut = true;
    this.#waiting = [];
    this.#source.stop();
    this.#meter?.end();
  }

  readonly #flushNow = () => {
    if (!this.#flushScheduled || this.#over) return;
    this.#flushScheduled = false;
    this.#full = !this.#sink.flush();
    this.#continue();
  };

  #continue(): void {
    if (!this.#paused || this.#over || this.#full || this.busy > 0) return;
    this.#paused = false;
    if (this.#waiting.length > 0) {
      const waiting = this.#waiting;
      this.#waiting = [];
      for (const chunk of waiting) this.chunk(chunk);
      if (!this.flush()) return;
    }
    if (this.#ending) this.#end(this.#ending);
    else if (!this.#cut) this.#source.resume();
  }
}
