import { describe, expect, it } from '@jest/globals';
import { runScenario } from '../tools/chaos/run.ts';
import { providerFailures } from '../tools/chaos/scenarios/provider-failure.ts';

describe('a provider that fails under load beside a healthy one', () => {
  it.each(providerFailures)(
    '$name: causes no client error that failover could cover and is not overrun on its return',
    async scenario => {
      const { findings, checks } = await runScenario(scenario, { seconds: 10, seed: 1, load: 0.3 });
      expect(findings.comparison.faults).toEqual([]);
      expect(checks.filter(({ holds }) => !holds)).toEqual([]);
    },
    120_000,
  );
});
