import { describe, expect, it } from '@jest/globals';
import { outageChecks } from '../bench/outage-report.ts';
import { outage } from '../bench/outage-run.ts';

/** `npm run outage` does the same with 500 requests per second. */
const small = { rate: 40, before_ms: 2000, dead_ms: 3000, after_ms: 14_000, open_ms: 500, ramp_ms: 8000 };

describe('a provider dies under load beside a healthy one, and comes back', () => {
  it.each(['killed', 'stopped'] as const)(
    '%s: no client sees an error that could be covered, and nobody overruns it when it is back',
    async death => {
      const options = { ...small, death };
      const findings = await outage(options);
      expect(outageChecks(findings, options).filter(({ holds }) => !holds)).toEqual([]);
      expect(Object.values(findings.failovers).reduce((sum, count) => sum + count, 0)).toBeGreaterThan(0);
    },
    120_000,
  );
});
