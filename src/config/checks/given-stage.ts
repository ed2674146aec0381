import type { StagePlan } from '../../gateway/exchange/stage-plan.ts';

/** The plan of a stage that is given in code, or a sentence that says what `entry` is instead. */
export function planOf(entry: unknown): StagePlan | string {
  const { plan, stageName } = Object(entry) as { plan?: Partial<StagePlan>; stageName?: unknown };
  if (typeof stageName === 'string')
    return `is the factory of the stage ${stageName}; call it, with options or without`;
  if (typeof plan?.create !== 'function' || typeof plan.name !== 'string')
    return 'must be a stage: what auth() returns, or a factory made with defineStage';
  return plan as StagePlan;
}

/** A sentence if a stage of `others` has the name of `plan`. */
export function nameTaken(plan: StagePlan, others: Iterable<StagePlan | undefined>): string | undefined {
  for (const other of others) {
    if (other?.name !== plan.name) continue;
    if (other.schema === plan.schema) return `the stage ${plan.name} is listed twice`;
    return `the name ${plan.name} is taken by another stage of the list; give one of them another name`;
  }
  return undefined;
}
