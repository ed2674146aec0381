import type { Chunk } from './canonical.ts';
import { chunkFault } from './canonical-faults.ts';
import { ChunkError } from './hook-result.ts';
import type { StageTimes } from './instrument.ts';
import type { HookStep } from './stage-steps.ts';
import type { ChunkReceiver, StreamController, StreamTransformer } from './stream.ts';

/** A stage's transformer, and the step of the chain that has made it. */
export interface StageTransformer {
  readonly step: HookStep;
  readonly transformer: StreamTransformer;
}

/** The pipeline, which pauses, resumes and ends the stream for its links. */
export interface LinkControl {
  /** Number of links that wait for a promise. */
  busy: number;
  /** Time at which a chunk last went from one link to another, or out. */
  now_ms: number;
  /** Flushes after this turn, for chunks that came outside of the source's turn. */
  flushSoon(): void;
  ready(): Promise<void> | undefined;
  /** Stops everything upstream of `link`. */
  stopBelow(link: StageLink): void;
  /** Notes that the sink has received the end of the stream. */
  ended(): void;
}

/** Value of `#since_ms` while the stage's time is not measured. */
const stopped = -1;

/** One stage in a stream: runs its transformer, measures its own time, and passes the end on. */
export class StageLink implements ChunkReceiver, StreamController {
  readonly #transformer: StreamTransformer;
  readonly #step: HookStep;
  readonly #next: ChunkReceiver;
  readonly #isLast: boolean;
  readonly #control: LinkControl;
  readonly #times: StageTimes;
  readonly #start_ms = performance.now();
  #own_ms = 0;
  #since_ms = stopped;
  /** True while a promise of the transformer is pending. */
  #isBusy = false;
  /** True while a call of the transformer is on the stack. */
  #inCall = false;
  /** The chunk that the transformer got last. */
  #given: Chunk | undefined;
  /** Chunks that came while a promise was pending. */
  #waiting: Chunk[] = [];
  #ending: { readonly fault?: unknown } | undefined;
  #flushing = false;
  #over = false;
  #failure: { readonly thrown: unknown } | undefined;

  constructor(
    { step, transformer }: StageTransformer,
    next: ChunkReceiver,
    isLast: boolean,
    control: LinkControl,
    times: StageTimes,
  ) {
    this.#step = step;
    this.#transformer = transformer;
    this.#next = next;
    this.#isLast = isLast;
    this.#control = control;
    this.#times = times;
  }

  start(): void {
    if (!this.#over && !this.#ending && this.#transformer.start) this.#call('start');
  }

  chunk(chunk: Chunk): void {
    if (this.#over) return;
    if (this.#isBusy) this.#waiting.push(chunk);
    else this.#call('transform', chunk);
  }

  end(): void {
    this.#end({});
  }

  fail(fault: unknown): void {
    this.#end({ fault });
  }

  enqueue(chunk: Chunk): void {
    if (this.#over) return;
    // A chunk that is passed on was checked where it came from.
    const fault = chunk === this.#given ? undefined : chunkFault(chunk);
    // Not thrown: a stage may be called by a timer, whose errors end the process.
    if (fault !== undefined) return this.#broke(new ChunkError(this.#step.stage, 'enqueued', fault));
    const control = this.#control;
    const isRunning = this.#since_ms !== stopped;
    control.now_ms = performance.now();
    if (isRunning) this.#own_ms += control.now_ms - this.#since_ms;
    this.#next.chunk(chunk);
    if (this.#isLast) control.now_ms = performance.now();
    if (isRunning) this.#since_ms = control.now_ms;
    if (!this.#inCall) control.flushSoon();
  }

  terminate(): void {
    if (this.#over || this.#ending) return;
    this.#control.stopBelow(this);
    this.#close({});
  }

  ready(): Promise<void> | undefined {
    const ready = this.#control.ready();
    if (!ready) return undefined;
    // Time spent in the client is not the stage's.
    this.#pause();
    return ready.then(() => {
      if (this.#isBusy) this.#since_ms = performance.now();
    });
  }

  /** Stops the stage, because its output is no longer read. */
  cancel(): void {
    if (this.#over) return;
    this.#finish();
    cancelTransformer(this.#transformer, this.#step, this.#times);
  }

  #call(method: 'start' | 'transform' | 'flush', chunk?: Chunk): void {
    this.#since_ms = performance.now();
    this.#inCall = true;
    this.#given = chunk;
    try {
      const transformer = this.#transformer;
      const pending = chunk
        ? transformer.transform(chunk, this)
        : method !== 'transform' && transformer[method]?.(this);
      if (pending) this.#wait(pending);
      else this.#pause();
    } catch (thrown) {
      this.#broke(thrown);
    } finally {
      this.#inCall = false;
    }
  }

  #busy(isBusy: boolean): void {
    this.#isBusy = isBusy;
    this.#control.busy += isBusy ? 1 : -1;
  }

  #wait(pending: Promise<void>): void {
    this.#busy(true);
    pending.then(this.#settled, thrown => {
      this.#busy(false);
      this.#broke(thrown);
      this.#control.flushSoon();
    });
  }

  readonly #settled = () => {
    this.#busy(false);
    this.#pause();
    while (!this.#over && !this.#isBusy && this.#waiting.length > 0)
      this.#call('transform', this.#waiting.shift());
    if (!this.#isBusy && this.#ending) this.#end(this.#ending);
    this.#control.flushSoon();
  };

  #end(ending: { readonly fault?: unknown }): void {
    this.#ending = ending;
    if (this.#over || this.#isBusy) return;
    if (!this.#flushing && this.#transformer.flush) {
      this.#flushing = true;
      this.#call('flush');
    }
    if (!this.#isBusy) this.#close(ending);
  }

  #broke(thrown: unknown): void {
    this.#pause();
    if (this.#over) return;
    this.#failure = { thrown };
    this.#times.refused(this.#step, thrown);
    this.#control.stopBelow(this);
    const next = this.#next;
    this.cancel();
    next.fail(thrown);
    if (this.#isLast) this.#control.ended();
  }

  #close(ending: { readonly fault?: unknown }): void {
    if (this.#over) return;
    this.#finish();
    if ('fault' in ending) this.#next.fail(ending.fault);
    else this.#next.end();
    if (this.#isLast) this.#control.ended();
  }

  #pause(): void {
    if (this.#since_ms === stopped) return;
    this.#control.now_ms = performance.now();
    this.#own_ms += this.#control.now_ms - this.#since_ms;
    this.#since_ms = stopped;
  }

  #finish(): void {
    this.#pause();
    this.#over = true;
    this.#waiting = [];
    this.#times.add(this.#step, this.#own_ms);
    const end_ms = performance.now();
    this.#times.span(this.#step, this.#start_ms, end_ms, this.#own_ms, this.#failure);
  }
}

/** Calls `cancel` of the transformer that `step` has made. What it throws is counted. */
export function cancelTransformer(transformer: StreamTransformer, step: HookStep, times: StageTimes): void {
  const refused = (thrown: unknown) => times.refused(step, thrown);
  try {
    const pending: unknown = transformer.cancel?.();
    // Not waited for; a rejection without a handler would end the process.
    if (pending instanceof Promise) pending.catch(refused);
  } catch (thrown) {
    refused(thrown);
  }
}
