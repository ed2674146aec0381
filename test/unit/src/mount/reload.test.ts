import { describe, expect, it } from '@jest/globals';
import type { Settings } from '../../../../src/config/load.ts';
import {
  changedSections,
  type FixedValues,
  fixedValues,
  kindOf,
  type ProcessKind,
  withFixed,
} from '../../../../src/mount/reload.ts';
import type { OtherProcesses } from '../../../../src/mount/server-status.ts';

const settingsOf = (value: string): Settings =>
  ({
    admin: { host: value, port: value, socket: value, tls: value, hosts: value },
    log: { format: value, level: value },
    metrics: { account_label: value },
    server: { host: value, port: value, tls: value, reuse_port: value, workers: value, open: value },
    stores: { records: value, state: value, [`only_${value}`]: value },
    models: [value],
    records: value,
    placesOf: ({ records }: { records: string }) => ({ records }),
  }) as unknown as Settings;

const always = [
  ...['host', 'port', 'socket', 'tls'].map(name => `admin.${name}`),
  ...['log.format', 'metrics.account_label', 'server.host', 'server.reuse_port'],
  ...['only_former', 'only_next', 'records', 'state'].map(name => `stores.${name}`),
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
      if (!Array.isArray(options) && typeof options === 'object' && section !== 'stores')
        for (const option of Object.keys(options))
          expect([section, option, (settings as never)[section][option]]).toEqual([
            section,
            option,
            kept.has(`${section}.${option}`) ? 'former' : 'next',
          ]);
    expect(settings).toMatchObject({ models: ['next'], records: 'former' });
    expect(settings.stores).toEqual(settingsOf('former').stores);
  });
});

it.each<[ProcessKind, Partial<Record<keyof OtherProcesses, object>>]>([
  ['alone', {}],
  ['primary', { workers: {} }],
  ['worker', { primary: {} }],
])('a process is %s by the others that it knows', (kind, others) => {
  expect(kindOf(others as OtherProcesses)).toBe(kind);
});

it('a worker begins with the values that it keeps until its restart, and with no others', () => {
  const former = settingsOf('former');
  const fixed = fixedValues(former);
  const next = settingsOf('next');
  expect(withFixed(next, fixed, 'worker')).toEqual(
    withFixed(next, former as unknown as FixedValues, 'worker'),
  );
  expect(structuredClone(fixed)).toMatchObject({ stores: former.stores });
  expect([Object.keys(fixed.log as object), fixed.models]).toEqual([['format'], undefined]);
});

it('changed are the sections that differ, came or went, and a stage by its name and options', () => {
  const stage = (options: object) => ({ name: 'auth', options, schema: {}, create() {} });
  const one = {
    log: 1,
    gone: 1,
    same: { a: [1] },
    stages: [stage({ a: 1 })],
    warnings: ['w'],
    listedAliases: 1,
  };
  const other = {
    log: 2,
    came: 1,
    same: { a: [1] },
    stages: [stage({ a: 1 })],
    warnings: [],
    listedAliases: 2,
  };
  const changed = (next: object) => changedSections(one as never, { ...other, ...next } as never);
  expect(changed({})).toEqual(['came', 'gone', 'log']);
  expect(changed({ stages: [stage({ a: 2 })] })).toEqual(['came', 'gone', 'log', 'stages']);
});
