import type { HistogramSeries } from '../../telemetry/metric-series.ts';
import type { Metrics, TimedHook } from '../../telemetry/metrics.ts';
import type { Exchange } from './exchange.ts';
import type { Stage } from './stage.ts';

/** One hook of one stage of a chain. */
export interface HookStep {
  /** The stage's name. */
  readonly stage: string;
  readonly hook: TimedHook;
  /** Index of the stage in the chain. */
  readonly index: number;
  /** Index of the step among all of its chain, phase after phase. */
  readonly place: number;
  /** Series of its times; undefined in a chain without metrics. */
  readonly series: HistogramSeries | undefined;
  call(exchange: Exchange, argument?: unknown): unknown;
}

/** The hooks of a chain by phase, in running order. A stage without a hook for a phase is not in its list. */
export type StageSteps = Readonly<Record<TimedHook, readonly HookStep[]>>;

type Hook = (exchange: Exchange, argument: unknown) => unknown;

/** Compiles the hooks of `stages`: requests pass the stages in order, everything else in reverse. */
export function stepsOf(stages: readonly Stage[], metrics: Metrics | undefined): StageSteps {
  let place = 0;
  const stepsOfHook = (hook: TimedHook): HookStep[] => {
    const steps = stages.flatMap((stage, index) => {
      const own = stage[hook] as Hook | undefined;
      if (!own) return [];
      const { name } = stage;
      return [{ stage: name, hook, index, series: metrics?.stageTime(name, hook), call: own.bind(stage) }];
    });
    const ordered = hook === 'onHeaders' || hook === 'onRequest' ? steps : steps.reverse();
    return ordered.map(step => ({ ...step, place: place++ }));
  };
  return {
    onHeaders: stepsOfHook('onHeaders'),
    onRequest: stepsOfHook('onRequest'),
    onReply: stepsOfHook('onReply'),
    onStream: stepsOfHook('onStream'),
    onError: stepsOfHook('onError'),
    onSettled: stepsOfHook('onSettled'),
  };
}
