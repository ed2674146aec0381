import { Registry } from 'prom-client';
import type { Completion } from '../../../../../src/gateway/exchange/canonical.ts';
import { Chain } from '../../../../../src/gateway/exchange/chain.ts';
import { fromGenerator } from '../../../../../src/gateway/exchange/from-generator.ts';
import type { Stage } from '../../../../../src/gateway/exchange/stage.ts';
import { outcomeOf } from '../../../../../src/gateway/settlement/settle.ts';
import { Metrics } from '../../../../../src/telemetry/metrics.ts';
import { sampleExchange } from '../../../sample-exchange.ts';

/** A whole reply. */
export const reply: Completion = {
  choices: [{ index: 0, message: { role: 'assistant', content: 'x' }, finish_reason: 'stop' }],
};

/** A stage's `onStream` that does nothing. */
export const pass = () =>
  fromGenerator(async function* (chunks) {
    yield* chunks;
  });

const happened = (counts: Record<string, number>): Record<string, number> =>
  Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0));

/** An exchange on its way through these stages, and what their metrics say of it. */
export function measured(stages: readonly Stage[]) {
  const registry = new Registry();
  const exchange = sampleExchange({ request: {} });
  const passage = new Chain(stages, new Metrics(registry)).enter(exchange);
  const valuesOf = async (name: string, suffix = '') => {
    const lines = (await registry.getSingleMetricAsString(name)).split('\n');
    const values = lines
      .filter(line => line.startsWith(`${name}${suffix}{`))
      .map(line => /\{(.*)\} (\S+)$/.exec(line)!);
    return Object.fromEntries(
      values.map(([, labels, value]) => [labels!.replaceAll('"', ''), Number(value)]),
    );
  };
  return {
    passage,
    /** What its outcome would be now. */
    outcome: () => outcomeOf(exchange),
    settle: () => passage.onSettled(outcomeOf(exchange)),
    /** Those that were observed: every hook has a series from the beginning. */
    counts: async () => happened(await valuesOf('sluice_stage_duration_seconds', '_count')),
    /** Every hook's count. */
    allCounts: () => valuesOf('sluice_stage_duration_seconds', '_count'),
    seconds: () => valuesOf('sluice_stage_duration_seconds', '_sum'),
    /** Those that have happened: series of what may happen are there from the beginning. */
    refusals: async () => happened(await valuesOf('sluice_stage_refusals_total')),
  };
}
