import type { Chunk } from '../canonical.ts';
import { GatewayError } from '../errors.ts';
import type { Exchange } from '../exchange.ts';
import type { Stage } from '../stage.ts';
import { type Metrics, type TimedHook, timedHooks } from '../telemetry/metrics.ts';
import { recordStageSpan } from '../telemetry/tracing.ts';

const hookAt: Record<TimedHook, number> = { onHeaders: 0, onRequest: 1, onReply: 2, onStream: 3 };

/** The own time of every stage and hook in one exchange, reported together at its end. */
export class StageTimes {
  readonly #stages: readonly Stage[];
  readonly #exchange: Exchange;
  readonly #metrics: Metrics | undefined;
  /** Milliseconds by stage and hook; NaN where a hook has not run. */
  readonly #own_ms: Float64Array;

  constructor(stages: readonly Stage[], exchange: Exchange, metrics: Metrics | undefined) {
    this.#stages = stages;
    this.#exchange = exchange;
    this.#metrics = metrics;
    this.#own_ms = new Float64Array(stages.length * timedHooks.length).fill(Number.NaN);
  }

  /** Runs a hook, waiting only if it returned a promise, and counts a refusal if it throws. */
  run(index: number, hook: TimedHook, call: () => void | Promise<void>): void | Promise<void> {
    const start_ms = performance.now();
    let pending: void | Promise<void>;
    try {
      pending = call();
    } catch (thrown) {
      this.#done(index, hook, start_ms);
      this.refused(index, hook, thrown);
      throw thrown;
    }
    if (!pending) return this.#done(index, hook, start_ms);
    return pending.then(
      () => this.#done(index, hook, start_ms),
      thrown => {
        this.#done(index, hook, start_ms);
        this.refused(index, hook, thrown);
        throw thrown;
      },
    );
  }

  #done(index: number, hook: TimedHook, start_ms: number): void {
    const end_ms = performance.now();
    this.add(index, hook, end_ms - start_ms);
    this.span(index, hook, start_ms, end_ms, end_ms - start_ms);
  }

  add(index: number, hook: TimedHook, own_ms: number): void {
    const at = index * timedHooks.length + hookAt[hook];
    const so_far = this.#own_ms[at]!;
    this.#own_ms[at] = Number.isNaN(so_far) ? own_ms : so_far + own_ms;
  }

  span(index: number, hook: TimedHook, start_ms: number, end_ms: number, own_ms: number): void {
    const { span } = this.#exchange;
    if (!span.isRecording()) return;
    const { timeOrigin } = performance;
    recordStageSpan(
      span,
      this.#stages[index]!.name,
      hook,
      timeOrigin + start_ms,
      timeOrigin + end_ms,
      own_ms,
    );
  }

  refused(index: number, hook: TimedHook, thrown: unknown): void {
    this.#metrics?.stageRefused(this.#stages[index]!.name, hook, GatewayError.from(thrown).type);
  }

  report(): void {
    if (!this.#metrics) return;
    for (let at = 0; at < this.#own_ms.length; at++) {
      const own_ms = this.#own_ms[at]!;
      if (Number.isNaN(own_ms)) continue;
      const stage = this.#stages[Math.floor(at / timedHooks.length)]!;
      this.#metrics.stageTime(stage.name, timedHooks[at % timedHooks.length]!, own_ms);
    }
  }
}

/**
 * A stage's stream, timed: its turns count, the waiting for what is below it does not. Written as plain iterators, because
 * it runs for every chunk and stage and an async generator would add two promises to each.
 */
export function timedStream(
  times: StageTimes,
  index: number,
  below: AsyncIterable<Chunk>,
  open: (input: AsyncIterable<Chunk>) => AsyncIterable<Chunk>,
): AsyncIterable<Chunk> {
  const start_ms = performance.now();
  let own_ms = 0;
  let mark_ms = start_ms;
  const source = below[Symbol.asyncIterator]();
  const pause = () => {
    own_ms += performance.now() - mark_ms;
  };
  const resume = () => {
    mark_ms = performance.now();
  };

  const input: AsyncIterableIterator<Chunk> = {
    next() {
      pause();
      return source.next().then(
        result => {
          resume();
          return result;
        },
        thrown => {
          resume();
          belowThrew = thrown;
          throw thrown;
        },
      );
    },
    return() {
      return source.return?.() ?? Promise.resolve({ done: true, value: undefined });
    },
    [Symbol.asyncIterator]() {
      return input;
    },
  };
  let belowThrew: unknown;
  const turns = open(input)[Symbol.asyncIterator]();
  pause();

  const finish = () => {
    times.add(index, 'onStream', own_ms);
    times.span(index, 'onStream', start_ms, performance.now(), own_ms);
    finished = true;
  };
  let finished = false;
  const output: AsyncIterableIterator<Chunk> = {
    next() {
      resume();
      return turns.next().then(
        result => {
          pause();
          if (result.done && !finished) finish();
          return result;
        },
        thrown => {
          pause();
          if (!finished) finish();
          // A fault from below only passes through; the stage that threw it first is the one that is counted.
          if (thrown !== belowThrew) times.refused(index, 'onStream', thrown);
          throw thrown;
        },
      );
    },
    return() {
      if (!finished) finish();
      return turns.return?.() ?? Promise.resolve({ done: true, value: undefined });
    },
    [Symbol.asyncIterator]() {
      return output;
    },
  };
  return output;
}
