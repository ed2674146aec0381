import { describe, expect, it } from '@jest/globals';
import { runScenario } from '../tools/chaos/run.ts';
import { soak } from '../tools/chaos/scenarios/soak.ts';

describe('the scenario soak', () => {
  it('gives clients of every kind what they asked for, with one record each, and leaks nothing', async () => {
    const { findings, checks } = await runScenario(soak, { seconds: 15, seed: 20_261_120, load: 0.6 });
    const { faults, records, sent } = findings.comparison;
    expect(faults).toEqual([]);
    expect(checks.filter(({ holds }) => !holds)).toEqual([]);
    expect(records).toBeGreaterThan(200);
    expect(sent.size).toBeGreaterThan(30);
  }, 240_000);
});
