import { describe, expect, it } from '@jest/globals';
import { ladderText, stepsOf } from '../../bench/ladder/ladder-table.ts';
import { rungNames } from '../../bench/ladder/rungs.ts';
import { sampleEntry } from './sample-entry.ts';

const spike = sampleEntry('rung-spike', [100, 100, 190]);
const inbound = sampleEntry('rung-inbound', [180, 110, 110]);
const sidecar = sampleEntry('sluice', [200, 390, 200]);

describe('the ladder', () => {
  it('compares the least rounds of neighbours, so that a slow round changes no share', () => {
    const [first, second, third] = stepsOf([spike, inbound, sidecar], 'requests');
    expect(first).toMatchObject({ name: 'spike', share: 0.5 });
    expect(second!.more_us).toBeCloseTo(10);
    expect(second!.share).toBeCloseTo(0.05);
    expect(third!.share).toBeCloseTo(0.45);
  });

  it('compares with the rung before a rung that has failed', () => {
    const failed = { ...inbound, fault: 'a reply with status 502' };
    const steps = stepsOf([spike, failed, sidecar], 'requests');
    expect(steps.map(({ name }) => name)).toEqual(['spike', 'sidecar']);
    expect(steps[1]!.share).toBeCloseTo(0.5);
  });

  it('says why a rung of more than 4 % costs that, and shows the fault of one that has failed', () => {
    const failed = { ...inbound, fault: 'a reply with status 502' };
    const entries = [spike, failed, sidecar];
    const contestants = entries.map(({ contestant }) => contestant);
    const named = new Map(entries.map(entry => [entry.contestant.name, entry]));
    const text = ladderText({ title: 'The ladder', baseline: 'sluice', contestants }, named);
    expect(text).toContain('a reply with status 502');
    expect(text).toMatch(/^- \*\*sidecar\*\*, 50\.0 % of a request: /m);
    expect(text).not.toMatch(/^- \*\*inbound/m);
    // Streams were not measured.
    expect(text).not.toContain('µs per event');
  });

  it('begins with the spike and ends with the command', () => {
    expect([rungNames[0], rungNames.at(-1)]).toEqual(['spike', 'sidecar']);
  });
});
