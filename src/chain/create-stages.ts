import type { Registry } from 'prom-client';
import type { Stage } from '../stage.ts';
import { pluginMetrics } from '../telemetry/metric-factory.ts';
import type { StagePlan, StageSetup } from './stage-plan.ts';

/** The parts that all stages of a chain share. */
export interface StageParts extends Omit<StageSetup, 'metrics'> {
  readonly registry: Registry;
}

/** Makes the stages of `plans`, in their order. */
export const createStages = (plans: readonly StagePlan[], parts: StageParts): Stage[] =>
  plans.map(plan => plan.create(stageSetup(plan, parts)));

/** What one stage is given: `parts`, with a log that names it and metrics of its own. */
export function stageSetup(
  { name, metricPrefix }: Pick<StagePlan, 'name' | 'metricPrefix'>,
  { catalog, accounts, plans, state, clock, log, registry }: StageParts,
): StageSetup {
  const metrics = pluginMetrics(registry, name, metricPrefix);
  return { catalog, accounts, plans, state, clock, log: log.child({ stage: name }), metrics };
}
