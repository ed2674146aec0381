import { describe, expect, it } from '@jest/globals';
import type { Settings } from '../../../src/config/load.ts';
import { type FixedValues, type ProcessKind, withFixed } from '../../../src/reload.ts';

const settingsOf = (value: string): Settings =>
  ({
    admin: { host: value, port: value, socket: value, tls: value, hosts: value },
    log: { format: value, level: value },
    metrics: { account_label: value },
    server: { host: value, port: value, tls: value, reuse_port: value, workers: value, open: value },
    stores: { records: value, state: value },
    models: [value],
    records: value,
  }) as unknown as Settings;

const always = [
  'admin.host',
  'admin.port',
  'admin.socket',
  'admin.tls',
  'log.format',
  'metrics.account_label',
  'server.host',
  'server.reuse_port',
  'stores.records',
  'stores.state',
];

describe.each<[ProcessKind, string[]]>([
  ['alone', ['server.port', 'server.tls', 'server.workers']],
  ['primary', []],
  ['worker', ['server.port', 'server.tls']],
])('the options that a process which is %s keeps until its restart', (kind, more) => {
  const former = settingsOf('former');
  const { settings, needsRestart } = withFixed(settingsOf('next'), former as unknown as FixedValues, kind);

  it('are named, each with its section', () => {
    expect(needsRestart.toSorted()).toEqual([...always, ...more].toSorted());
  });

  it('keep their former values, and all others have the next ones', () => {
    const kept = new Set(needsRestart);
    for (const [section, options] of Object.entries(settingsOf('next') as unknown as Record<string, object>))
      if (!Array.isArray(options) && typeof options === 'object')
        for (const option of Object.keys(options))
          expect([section, option, (settings as never)[section][option]]).toEqual([
            section,
            option,
            kept.has(`${section}.${option}`) ? 'former' : 'next',
          ]);
    expect(settings).toMatchObject({ models: ['next'], records: 'former' });
  });
});
