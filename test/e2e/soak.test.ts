import { describe, expect, it } from '@jest/globals';
import { soak } from '../bench/soak-run.ts';
import { checksOf } from '../bench/soak-verdict.ts';

const mebibyte = 1024 * 1024;

describe('clients of every kind, together, for a minute', () => {
  it('get what they asked for, leave one record each, and nothing behind', async () => {
    const options = {
      seconds: 60,
      concurrency: 20,
      seed: 20_261_120,
      sample_ms: 1000,
      // The code is still being compiled: only what grows without end would be more than this.
      growth: { ratio: 1.5, bytes: 128 * mebibyte },
      settling_ms: 60_000,
      // Connections to the upstream are kept for as long as it says.
      spare_files: 150,
    };
    const findings = await soak(options);
    expect(findings.ledger.faults).toEqual([]);
    expect(checksOf(findings, options).filter(({ holds }) => !holds)).toEqual([]);
    expect(findings.ledger.records).toBeGreaterThan(200);
    expect(findings.ledger.asked.size).toBeGreaterThan(30);
  }, 240_000);
});
