import type { Registry } from 'prom-client';
import type { MakePlugin } from '../../common/config-error.ts';
import { MemoryCache } from '../../common/memory-cache.ts';
import type { CacheStore } from '../../gateway/cache/cache-store.ts';
import type { Stage } from '../../gateway/exchange/stage.ts';
import type { StagePlan, StageSetup } from '../../gateway/exchange/stage-plan.ts';
import { pluginMetrics } from '../../telemetry/metric-factory.ts';
import { max_memory_characters, stageCache } from './stage-cache.ts';

/** Parts that all stages of a chain share. */
export interface StageParts extends Omit<StageSetup, 'metrics' | 'cache'> {
  readonly registry: Registry;
  /** Caches in memory by the names of their stages, which outlive the stages. */
  readonly caches?: Map<string, CacheStore>;
  /** A stage that is there already and would be created alike, if there is one. */
  readonly kept?: (plan: StagePlan) => Stage | undefined;
}

/** Creates the stages of `plans`, in order. If one of them cannot be created, closes those created before it and throws. */
export function createStages(
  plans: readonly StagePlan[],
  parts: StageParts,
  made: MakePlugin = (_, make) => make(),
): Stage[] {
  const stages: Stage[] = [];
  const opened: Stage[] = [];
  try {
    for (const [at, plan] of plans.entries()) {
      const kept = parts.kept?.(plan);
      const stage = kept ?? made(at, () => created(plan, parts));
      stages.push(stage);
      if (!kept) opened.push(stage);
    }
    return stages;
  } catch (thrown) {
    for (const stage of opened) void closed(stage).catch(() => {});
    throw thrown;
  }
}

/** The stage of `plan`. What its `create` throws gets the stage's name. */
function created(plan: StagePlan, parts: StageParts): Stage {
  const setup = stageSetup(plan, parts);
  try {
    return plan.create(setup);
  } catch (cause) {
    // It names the stage already; of this copy of the package or another.
    if (Object(cause).name === 'ConfigError') throw cause;
    const text = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`create of the stage ${plan.name} threw: ${text}`, { cause });
  }
}

const closed = async (stage: Stage) => stage.close?.();

/** Setup of one stage: `parts`, with a log that names the stage, and metrics and a cache of its own. */
export function stageSetup(
  { name, metricPrefix }: Pick<StagePlan, 'name' | 'metricPrefix'>,
  { catalog, accounts, accountOf, plans, state, clock, log, registry, caches }: StageParts,
): StageSetup {
  const metrics = pluginMetrics(registry, name, metricPrefix);
  const stageLog = log.child({ stage: name });
  const now = () => clock.elapsed_ms();
  const own = state.cache ?? caches?.get(name) ?? new MemoryCache(max_memory_characters, now);
  if (!state.cache) caches?.set(name, own);
  const cache = stageCache(name, own, now, stageLog);
  return {
    catalog,
    accounts,
    accountOf,
    plans,
    state,
    cache,
    clock,
    log: stageLog,
    metrics,
  };
}
