import type { StageTimes } from './instrument.ts';
import { type LinkControl, StageLink, type StageTransformer } from './stage-link.ts';
import type { ChunkSink, ChunkSource, StreamHandle } from './stream.ts';

/**
 * A stream through the transformers of an exchange, the first the nearest to the upstream. What is synchronous runs in the turn in which
 * the bytes came. From the provider's socket to the client's eight objects call one another for a chunk:
 *
 * 1. `UpstreamCall`: undici's handler; pauses and resumes the socket
 * 2. `StreamReader`: bytes to chunks, with the parser and the adapter's decoder
 * 3. `Attempt`: its span, times and end
 * 4. `AttemptStream`: holds chunks until the answer's first word, while another upstream could still be asked
 * 5. `MeteredStream`: counts what the stages take
 * 6. `StageLink`, one for each stage that transforms this stream
 * 7. `StreamShape`: what the protocol promises, whatever the stages
 * 8. `StreamWriter`: the dialect's text, commit, heartbeat, back-pressure, write
 */
export class StreamPipeline implements StreamHandle, LinkControl {
  busy = 0;
  now_ms = 0;
  /** Links, the nearest to the upstream first. */
  readonly #links: StageLink[] = [];
  readonly #source: StreamHandle;
  readonly #sink: ChunkSink;
  #begun = false;
  #over = false;
  /** True while the sink has asked for a pause. */
  #full = false;
  /** True while the source is paused. */
  #paused = false;
  #flushScheduled = false;
  #ready: PromiseWithResolvers<void> | undefined;

  constructor(source: ChunkSource, stages: readonly StageTransformer[], times: StageTimes, sink: ChunkSink) {
    this.#sink = sink;
    let next = sink;
    for (const stage of stages.toReversed()) {
      const link = new StageLink(stage, next, next === sink, this, times);
      this.#links.unshift(link);
      next = link;
    }
    this.#source = source.pushInto(next);
  }

  resume(): void {
    this.#full = false;
    this.#ready?.resolve();
    this.#ready = undefined;
    if (this.#begun) return this.#continue();
    this.#begun = true;
    this.#paused = true;
    for (const link of this.#links) link.start();
    this.#continue();
  }

  stop(): void {
    this.#over = true;
    this.#source.stop();
    for (const link of this.#links) link.cancel();
  }

  stopBelow(link: StageLink): void {
    this.#source.stop();
    for (const below of this.#links) {
      if (below === link) return;
      below.cancel();
    }
  }

  ended(): void {
    this.#over = true;
  }

  pause(): void {
    this.#paused = true;
  }

  flush(): boolean {
    this.#full = !this.#sink.flush();
    this.#paused = this.#full || this.busy > 0;
    return !this.#paused;
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

  readonly #flushNow = () => {
    if (!this.#flushScheduled || this.#over) return;
    this.#flushScheduled = false;
    this.#full = !this.#sink.flush();
    this.#continue();
  };

  #continue(): void {
    if (!this.#paused || this.#over || this.#full || this.busy > 0) return;
    this.#paused = false;
    this.#source.resume();
  }
}
