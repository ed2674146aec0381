import { describe, expect, it } from '@jest/globals';
import { RefusalCounter } from '../../../../../src/mount/ledger/refusal-counter.ts';
import { sampleRow } from './sample-row.ts';

const noon_ms = Date.parse('2026-11-20T12:00:00Z');

describe('counted refusals', () => {
  it('keep fifty rows of a minute, five of each kind at most, and as many again of the next', () => {
    const counter = new RefusalCounter();
    const refusedOf = (minute: number) => {
      for (let at = 0; at < 60; at++) {
        const started_ms = noon_ms + minute * 60_000 + at;
        counter.add(sampleRow({ started_ms, model: `v/${at % 12}`, status: 429, attempts: 0 }));
      }
      const [{ refusals, samples = [] } = { refusals: [] }] = counter.drain();
      const ofFirst = samples.filter(({ model }) => model === 'v/0');
      return [refusals.reduce((sum, { requests }) => sum + requests, 0), samples.length, ofFirst.length];
    };
    expect([refusedOf(0), refusedOf(1)]).toEqual([
      [60, 50, 5],
      [60, 50, 5],
    ]);
  });
});
