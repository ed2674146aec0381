import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { serverSchema } from '../../src/config/schema.ts';
import { faultsOfCommandLine } from '../support/documents/command-lines.ts';

const unit = readFileSync(new URL('../../examples/systemd/sluice.service', import.meta.url), 'utf8');
const valuesOf = (name: string) =>
  [...unit.matchAll(new RegExp(`^${name}=(.*)$`, 'gm'))].map(([, value]) => value ?? '');

describe('examples/systemd', () => {
  it('starts a command that exists', () => {
    const [start = ''] = valuesOf('ExecStart');
    expect(start).toMatch(/^\/opt\/sluice\/node_modules\/\.bin\/sluice /);
    const text = start.replace(/^\S+/, 'sluice');
    expect(faultsOfCommandLine({ place: 'sluice.service', text })).toEqual([]);
  });

  it('waits for the whole shutdown before it kills the process', () => {
    const { unready_ms, drain_ms } = serverSchema.parse({});
    const [stop_s] = valuesOf('TimeoutStopSec');
    expect(Number(stop_s) * 1000).toBeGreaterThanOrEqual(unready_ms + drain_ms + 5000);
  });

  it('does not forbid what Node needs to compile JavaScript', () => {
    expect(valuesOf('MemoryDenyWriteExecute')).toEqual([]);
  });
});
