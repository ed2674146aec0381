import { expect, it } from '@jest/globals';
import { Registry } from 'prom-client';
import type { Parts } from '../../../src/assemble.ts';
import { RunningConfigurations } from '../../../src/running-configuration.ts';

const registry = new Registry();
const forgotten: string[] = [];
const closed: string[] = [];
const nothing = () => {};

/** The parts of a configuration with these providers, as far as its beginning and its end need them. */
const partsWith = (...names: string[]): Parts => {
  const client = { prepare: nothing, forget: (name: string) => void forgotten.push(name) };
  return {
    metrics: { registry, client, prepareRequests: nothing, configLoaded: nothing },
    settings: { server: {}, models: [], passthrough: [], log: {} },
    providers: names.map(name => ({
      name,
      adapter: {},
      retire: nothing,
      watch: nothing,
      close: async () => void closed.push(name),
    })),
    records: { configure: nothing },
    background: { configure: nothing },
    buffered: { configure: nothing },
    routes: { generating: [] },
    chain: { stages: [], close: async () => [] },
    passthrough: { close: nothing },
    caches: new Map(),
    clock: { epoch_ms: () => 0 },
    setLogLevel: nothing,
  } as unknown as Parts;
};

it('forgets what is known of a provider once no configuration has it, and closes it', async () => {
  const configurations = new RunningConfigurations(partsWith('stays', 'goes'));
  configurations.replace(partsWith('stays'));
  expect(forgotten).toEqual(['goes']);
  await configurations.close();
  expect(closed.toSorted()).toEqual(['goes', 'stays', 'stays']);
});
