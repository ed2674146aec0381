import type { ChunkSink, StreamHandle } from '../stream.ts';

/** What of a link its control calls. */
interface PipelineLink {
  start(): void;
  /** The output is no longer read. */
  cancel(): void;
}

/** Pauses, resumes and ends one stream for its links. */
export class PipelineControl implements StreamHandle {
  /** The nearest to the upstream first. */
  readonly links: PipelineLink[] = [];
  source!: StreamHandle;
  /** How many links wait for a promise. */
  busy = 0;
  /** When a chunk last went from one link to another, or left. */
  now_ms = 0;
  readonly #sink: ChunkSink;
  #begun = false;
  #over = false;
  /** The sink has asked for a pause. */
  #full = false;
  /** The source has been told to pause. */
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

  /** Nothing more is wanted from below `link`. */
  stopBelow(link: PipelineLink): void {
    this.source.stop();
    for (const below of this.links) {
      if (below === link) return;
      below.cancel();
    }
  }

  /** The sink has the end of the stream. */
  ended(): void {
    this.#over = true;
  }

  /** A stage is at work: the source waits until it has settled. */
  pause(): void {
    this.#paused = true;
  }

  /** What came together has been given. False asks the source for a pause. */
  flush(): boolean {
    this.#full = !this.#sink.flush();
    this.#paused = this.#full || this.busy > 0;
    return !this.#paused;
  }

  /** Chunks came outside of the source's turn: they leave together after this one. */
  flushSoon(): void {
    if (this.#flushScheduled) return;
    this.#flushScheduled = true;
    process.nextTick(this.#flushNow);
  }

  ready(): Promise<void> | undefined {
    if (this.#flushScheduled) this.#flushNow();
    if (!this.#full || this.#over) return undefined;
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
