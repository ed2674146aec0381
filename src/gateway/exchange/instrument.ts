import type { HistogramSeries } from '../../telemetry/metric-series.ts';
import { type Metrics, type TimedHook, timedHooks } from '../../telemetry/metrics.ts';
import { exceptionAttributes, recordStageSpan, type StageError } from '../../telemetry/tracing.ts';
import { GatewayError } from './errors.ts';
import type { Exchange } from './exchange.ts';
import type { Stage } from './stage.ts';
import type { StageRecord, StageTimeline } from './stage-record.ts';

const hookAt = Object.fromEntries(timedHooks.map((hook, at) => [hook, at])) as Record<TimedHook, number>;

type CalledStage = Record<TimedHook, (exchange: Exchange, argument: unknown) => unknown>;

/** What a hook threw, which is no GatewayError, and where. */
export interface StageFault {
  readonly thrown: unknown;
  readonly stage: string;
  readonly hook: TimedHook;
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

/** Own time of every stage and hook in one exchange, reported together at its end; of what ends later, then. */
export class StageTimes implements StageTimeline {
  readonly #stages: readonly Stage[];
  readonly #exchange: Exchange;
  readonly #metrics: Metrics | undefined;
  /** Series of the times, resolved once per chain. */
  readonly #series: (HistogramSeries | undefined)[];
  /** Milliseconds by stage and hook; negative if a hook has not run. */
  readonly #own_ms: number[];
  /** When the exchange began, on the clock of `performance.now`. */
  readonly #began_ms: number;
  /** Places of the hooks in the order in which they first ran, each followed by when it did. */
  readonly #starts: number[] = [];
  #isReported = false;
  /** Places of hooks that have failed without settling: when they settle after all, it counts no more. */
  #givenUp: Set<number> | undefined;
  /** The first thing thrown by a stage that is no GatewayError. */
  fault: StageFault | undefined;

  constructor(
    stages: readonly Stage[],
    exchange: Exchange,
    metrics: Metrics | undefined,
    series: (HistogramSeries | undefined)[],
  ) {
    this.#stages = stages;
    this.#exchange = exchange;
    this.#metrics = metrics;
    this.#series = series;
    this.#own_ms = new Array<number>(stages.length * timedHooks.length).fill(-1);
    this.#began_ms = performance.now() - exchange.elapsed_ms;
    exchange.stageTimelines.push(this);
  }

  nameOf(index: number): string {
    return this.#stages[index]!.name;
  }

  /** Runs and times a hook, awaits it only if it returned a promise, and counts what it throws. */
  run(index: number, hook: TimedHook, argument?: unknown): unknown {
    const start_ms = performance.now();
    const at = placeOf(index, hook);
    if (this.#own_ms[at]! < 0) this.#starts.push(at, start_ms);
    let result: unknown;
    try {
      result = (this.#stages[index] as unknown as CalledStage)[hook](this.#exchange, argument);
    } catch (thrown) {
      this.#done(index, hook, start_ms, undefined, { thrown });
      this.refused(index, hook, thrown);
      throw thrown;
    }
    if (isPending(result)) return this.#settled(index, hook, start_ms, result);
    this.#done(index, hook, start_ms, result);
    return result;
  }

  async #settled<T>(index: number, hook: TimedHook, start_ms: number, pending: PromiseLike<T>): Promise<T> {
    try {
      const result = await pending;
      if (!this.#isGivenUp(index, hook)) this.#done(index, hook, start_ms);
      return result;
    } catch (thrown) {
      if (this.#isGivenUp(index, hook)) throw thrown;
      this.#done(index, hook, start_ms, undefined, { thrown });
      this.refused(index, hook, thrown);
      throw thrown;
    }
  }

  #done(index: number, hook: TimedHook, start_ms: number, result?: unknown, failure?: HookFailure): void {
    const end_ms = performance.now();
    this.add(index, hook, end_ms - start_ms);
    // A transformer gets its span when the stream has ended.
    if (hook !== 'onStream' || !result) {
      this.span(index, hook, start_ms, end_ms, end_ms - start_ms, failure);
    }
  }

  add(index: number, hook: TimedHook, own_ms: number): void {
    const at = placeOf(index, hook);
    if (this.#isReported) return this.#observe(at, own_ms);
    const so_far = this.#own_ms[at]!;
    this.#own_ms[at] = so_far < 0 ? own_ms : so_far + own_ms;
  }

  /** Records the span of a hook that has ended, below that of the exchange, which may have ended before. */
  span(
    index: number,
    hook: TimedHook,
    start_ms: number,
    end_ms: number,
    own_ms: number,
    failure?: HookFailure,
  ): void {
    const { span, trace_id } = this.#exchange;
    if (trace_id === undefined) return;
    const time = { stage: this.#stages[index]!.name, hook, start_ms, end_ms, own_ms };
    recordStageSpan(span, time, failure && stageErrorOf(failure.thrown));
  }

  /** Counts and shows a failure of a hook that did not throw: it has not settled since `start_ms`, or has returned what it may not. */
  failed(index: number, hook: TimedHook, thrown: unknown, start_ms?: number): void {
    const end_ms = performance.now();
    this.#givenUp ??= new Set();
    this.#givenUp.add(placeOf(index, hook));
    if (start_ms !== undefined) this.add(index, hook, end_ms - start_ms);
    this.span(index, hook, start_ms ?? end_ms, end_ms, 0, { thrown });
    this.refused(index, hook, thrown);
  }

  refused(index: number, hook: TimedHook, thrown: unknown): void {
    if (!GatewayError.is(thrown)) this.fault ??= { thrown, stage: this.#stages[index]!.name, hook };
    this.#metrics?.stageRefused(this.#stages[index]!.name, hook, GatewayError.from(thrown).type);
  }

  /** Reports the times so far. A hook that is still running reports its own when it settles. */
  report(): void {
    this.#isReported = true;
    for (let at = 0; at < this.#own_ms.length; at++) {
      const own_ms = this.#own_ms[at]!;
      if (own_ms >= 0) this.#observe(at, own_ms);
    }
  }

  records(limit: number): StageRecord[] {
    const records: StageRecord[] = [];
    for (let next = 0; next < this.#starts.length && records.length < limit; next += 2) {
      const at = this.#starts[next]!;
      const own_ms = this.#own_ms[at]!;
      const hook = timedHooks[at % timedHooks.length]!;
      if (own_ms < 0 || hook === 'onSettled') continue;
      const offset_ms = Math.max(0, hundredths(this.#starts[next + 1]! - this.#began_ms));
      const { name: stage } = this.#stages[Math.floor(at / timedHooks.length)]!;
      records.push({ stage, hook, offset_ms, own_ms: hundredths(own_ms) });
    }
    return records;
  }

  #isGivenUp(index: number, hook: TimedHook): boolean {
    return this.#givenUp?.has(placeOf(index, hook)) === true;
  }

  #observe(at: number, own_ms: number): void {
    if (!this.#metrics) return;
    const stage = this.#stages[Math.floor(at / timedHooks.length)]!;
    this.#series[at] ??= this.#metrics.stageTime(stage.name, timedHooks[at % timedHooks.length]!);
    this.#series[at].observe(own_ms / 1000);
  }
}

/** Place of a stage's hook among the times. */
const placeOf = (index: number, hook: TimedHook): number => index * timedHooks.length + hookAt[hook];

const hundredths = (ms: number): number => Math.round(ms * 100) / 100;

const isPending = (result: unknown): result is PromiseLike<unknown> =>
  typeof (result as { then?: unknown } | null | undefined)?.then === 'function';
