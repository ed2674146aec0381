import { describe, expect, it } from '@jest/globals';
import { ladderText, stepsOf } from '../../../tools/bench/ladder/ladder-table.ts';
import { rungNames } from '../../../tools/bench/ladder/rungs.ts';
import { sampleEntry } from './sample-entry.ts';

const spike = sampleEntry('rung-spike', [100, 100, 190]);
const inbound = sampleEntry('rung-inbound', [110, 110, 110]);
const sidecar = sampleEntry('sluice', [200, 200, 390]);

describe('the ladder', () => {
  it('tells a difference that nine of ten rounds have, and none within their spread', () => {
    const [first, second, third] = stepsOf([spike, inbound, sidecar], 'requests');
    expect(first).toMatchObject({ name: 'spike', least_us: 100, more_us: undefined });
    // In one of three rounds it costs less.
    expect(second!.more_us).toBeUndefined();
    expect(third!.more_us).toBe(90);
  });

  it('compares with the rung before a rung that has failed', () => {
    const failed = { ...inbound, fault: 'a reply with status 502' };
    const steps = stepsOf([spike, failed, sidecar], 'requests');
    expect(steps.map(({ name }) => name)).toEqual(['spike', 'sidecar']);
  });

  it('shows differences without reasons, and the fault of a rung that has failed', () => {
    const failed = { ...inbound, fault: 'a reply with status 502' };
    const entries = [spike, failed, sidecar];
    const contestants = entries.map(({ contestant }) => contestant);
    const named = new Map(entries.map(entry => [entry.contestant.name, entry]));
    const text = ladderText({ title: 'The ladder', baseline: 'sluice', contestants }, named);
    expect(text).toContain('a reply with status 502');
    expect(text).toMatch(/^\| \+ sidecar: .*\+100\.0 \|$/m);
    expect(text).not.toMatch(/^- /m);
    // Streams were not measured.
    expect(text).not.toContain('µs per event');
  });

  it('begins with the spike and ends with the command', () => {
    expect([rungNames[0], rungNames.at(-1)]).toEqual(['spike', 'sidecar']);
  });
});
