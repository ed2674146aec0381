import type { ChunkSink, StreamHandle } from '../stream.ts';

/** The part of a link that its control calls. */
interface PipelineLink {
  start(): void;
  /** Called when the output is no longer read. */
  cancel(): void;
}

/** Pauses, resumes and ends one stream for its links. */
export class PipelineControl implements StreamHandle {
  /** Links, the nearest to the upstream first. */
  readonly links: PipelineLink[] = [];
  source!: StreamHandle;
  /** Number of links that wait for a promise. */
  busy = 0;
  /** Time at which a chunk last went from one link to another, or out. */
  now_ms = 0;
  readonly #sink: ChunkSink;
  #begun = false;
  #over = false;
  /** True while the sink has asked for a pause. */
  #full = false;
  /** True while the source is paused. */
  #paused = false;
  #flushScheduled = false;
  #ready: PromiseWithResolvers<void> | undefined;

  constructor(sink: ChunkSink) {
    this.#sink = sink;
  }

  resume(): void {
    this.#full = false;
    this.#ready?.resolve();
    this.#ready = undefined;
    if (this.#begun) return this.#continue();
    this.#begun = true;
    this.#paused = true;
    for (const link of this.links) link.start();
    this.#continue();
  }

  stop(): void {
    this.#over = true;
    this.source.stop();
    for (const link of this.links) link.cancel();
  }

  /** Stops everything upstream of `link`. */
  stopBelow(link: PipelineLink): void {
    this.source.stop();
    for (const below of this.links) {
      if (below === link) return;
      below.cancel();
    }
  }

  /** Notes that the sink has received the end of the stream. */
  ended(): void {
    this.#over = true;
  }

  /** Pauses the source until a stage's promise has settled. */
  pause(): void {
    this.#paused = true;
  }

  /** Ends a batch of chunks. False asks the source for a pause. */
  flush(): boolean {
    this.#full = !this.#sink.flush();
    this.#paused = this.#full || this.busy > 0;
    return !this.#paused;
  }

  /** Flushes after this turn, for chunks that came outside of the source's turn. */
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
    this.source.resume();
  }
}
