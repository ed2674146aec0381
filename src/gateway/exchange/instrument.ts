import type { Metrics } from '../../telemetry/metrics.ts';
import { exceptionAttributes, recordStageSpan, type StageError } from '../../telemetry/tracing.ts';
import { GatewayError } from './errors.ts';
import type { Exchange, StageTimeline } from './exchange.ts';
import type { StageRecord } from './exchange-view.ts';
import type { HookStep } from './stage-steps.ts';

/** What a hook threw, which is no GatewayError, and where. */
export interface StageFault extends Pick<HookStep, 'stage' | 'hook'> {
  readonly thrown: unknown;
}

/** What a hook threw, whatever it is. */
interface HookFailure {
  readonly thrown: unknown;
}

/** The error as the span of its stage shows it: a fault has the place where it was thrown, a refusal only its type. */
function stageErrorOf(thrown: unknown): StageError {
  const { type, status, cause } = GatewayError.from(thrown);
  if (type !== 'server_error') return { type, isFault: status >= 500 };
  return { type, isFault: true, exception: exceptionAttributes(cause ?? thrown) };
}

/** Value of a time that has not been taken. A fraction, so that V8 keeps the lists of times as lists of doubles. */
const not_yet = -0.5;

/** A list of `length` times that have not been taken, to be copied for each exchange. */
export const noTimes = (length: number): readonly number[] => new Array<number>(length).fill(not_yet);

/** Own time of every hook in one exchange, reported together at its end; of what ends later, then. */
export class StageTimes implements StageTimeline {
  readonly #steps: readonly HookStep[];
  readonly #exchange: Exchange;
  readonly #metrics: Metrics | undefined;
  /** Milliseconds by place of the hook; negative if it has not ended. */
  readonly #own_ms: number[];
  /** When each hook first ran, by its place, on the clock of `performance.now`. */
  readonly #starts_ms: number[];
  /** When the exchange began, on the same clock. */
  readonly #began_ms: number;
  /** When the last hook ended or the phase began: the start of the next hook. */
  #now_ms: number;
  #isReported = false;
  /** Hooks that have failed without settling: when they settle after all, it counts no more. */
  #givenUp: Set<HookStep> | undefined;
  /** The first thing thrown by a stage that is no GatewayError. */
  fault: StageFault | undefined;

  /** `steps` in the order of their places; `none` is `noTimes` of as many. */
  constructor(
    steps: readonly HookStep[],
    none: readonly number[],
    exchange: Exchange,
    metrics: Metrics | undefined,
  ) {
    this.#steps = steps;
    this.#exchange = exchange;
    this.#metrics = metrics;
    this.#own_ms = none.slice();
    this.#starts_ms = none.slice();
    this.#now_ms = performance.now();
    this.#began_ms = this.#now_ms - exchange.elapsed_ms;
    exchange.stageTimelines = [...exchange.stageTimelines, this];
  }

  /** Begins a phase, after other work than that of stages. */
  begin(): void {
    this.#now_ms = performance.now();
  }

  /** Runs and times a hook, awaits it only if it returned a promise, and counts what it throws. */
  run(step: HookStep, argument?: unknown): unknown {
    const start_ms = this.#now_ms;
    if (this.#starts_ms[step.place]! < 0) this.#starts_ms[step.place] = start_ms;
    let result: unknown;
    try {
      result = step.call(this.#exchange, argument);
    } catch (thrown) {
      this.#ended(step, start_ms, { thrown });
      throw thrown;
    }
    if (result !== undefined && isPending(result)) return this.#settled(step, start_ms, result);
    const end_ms = performance.now();
    this.#now_ms = end_ms;
    const so_far = this.#own_ms[step.place]!;
    if (so_far < 0 && !this.#isReported) this.#own_ms[step.place] = end_ms - start_ms;
    else this.add(step, end_ms - start_ms);
    // A transformer gets its span when the stream has ended.
    if (this.#exchange.trace_id !== undefined && (step.hook !== 'onStream' || !result))
      this.span(step, start_ms, end_ms, end_ms - start_ms);
    return result;
  }

  async #settled<T>(step: HookStep, start_ms: number, pending: PromiseLike<T>): Promise<T> {
    try {
      const result = await pending;
      if (!this.#givenUp?.has(step)) this.#ended(step, start_ms);
      return result;
    } catch (thrown) {
      if (!this.#givenUp?.has(step)) this.#ended(step, start_ms, { thrown });
      throw thrown;
    }
  }

  #ended(step: HookStep, start_ms: number, failure?: HookFailure): void {
    const end_ms = performance.now();
    this.#now_ms = end_ms;
    this.add(step, end_ms - start_ms);
    this.span(step, start_ms, end_ms, end_ms - start_ms, failure);
    if (failure) this.refused(step, failure.thrown);
  }

  add({ place, series }: HookStep, own_ms: number): void {
    if (this.#isReported) return series?.observe(own_ms / 1000);
    const so_far = this.#own_ms[place]!;
    this.#own_ms[place] = so_far < 0 ? own_ms : so_far + own_ms;
  }

  /** Records the span of a hook that has ended, below that of the exchange, which may have ended before. */
  span(step: HookStep, start_ms: number, end_ms: number, own_ms: number, failure?: HookFailure): void {
    const { span, trace_id } = this.#exchange;
    if (trace_id === undefined) return;
    const time = { stage: step.stage, hook: step.hook, start_ms, end_ms, own_ms };
    recordStageSpan(span, time, failure && stageErrorOf(failure.thrown));
  }

  /** Counts and shows a failure of a hook that did not throw: it has not settled since `start_ms`, or has returned what it may not. */
  failed(step: HookStep, thrown: unknown, start_ms?: number): void {
    const end_ms = performance.now();
    this.#givenUp ??= new Set();
    this.#givenUp.add(step);
    if (start_ms !== undefined) this.add(step, end_ms - start_ms);
    this.span(step, start_ms ?? end_ms, end_ms, 0, { thrown });
    this.refused(step, thrown);
  }

  refused({ stage, hook }: HookStep, thrown: unknown): void {
    if (!GatewayError.is(thrown)) this.fault ??= { thrown, stage, hook };
    this.#metrics?.stageRefused(stage, hook, GatewayError.from(thrown).type);
  }

  /** Reports the times so far. A hook that is still running reports its own when it settles. */
  report(): void {
    this.#isReported = true;
    const own_ms = this.#own_ms;
    for (let place = 0; place < own_ms.length; place++)
      if (own_ms[place]! >= 0) this.#steps[place]!.series?.observe(own_ms[place]! / 1000);
  }

  records(limit: number): StageRecord[] {
    const records: StageRecord[] = [];
    // One phase follows another, so that the order of places is that of the starts.
    for (let place = 0; place < this.#steps.length && records.length < limit; place++) {
      const { stage, hook } = this.#steps[place]!;
      const own_ms = this.#own_ms[place]!;
      if (own_ms < 0 || hook === 'onSettled') continue;
      const offset_ms = Math.max(0, this.#starts_ms[place]! - this.#began_ms);
      records.push({
        stage,
        hook,
        offset_ms: Math.round(offset_ms * 100) / 100,
        own_ms: Math.round(own_ms * 100) / 100,
      });
    }
    return records;
  }
}

const isPending = (result: unknown): result is PromiseLike<unknown> =>
  typeof (result as { then?: unknown } | null)?.then === 'function';
