import { beforeAll, describe, expect, it } from '@jest/globals';
import { type CaseResult, runCases } from '../tools/alerts/alert-run.ts';
import { allCases, worstCases } from '../tools/alerts/all-cases.ts';

const cases = allCases.filter(({ job }) => worstCases.includes(job));
let results: readonly CaseResult[] = [];
beforeAll(async () => {
  results = await runCases(cases);
}, 300_000);

describe('the alerts, in a real Prometheus with short times', () => {
  it.each(cases)('are quiet, fire and are resolved as they must: $what', ({ job }) => {
    expect(results.find(result => result.job === job)?.faults).toEqual([]);
  });
});
