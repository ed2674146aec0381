import { beforeEach, expect, it } from '@jest/globals';
import { Registry } from 'prom-client';
import type { CacheStore } from '../../../../src/gateway/cache/cache-store.ts';
import type { ExchangeRun } from '../../../../src/gateway/exchange/runner.ts';
import type { Parts } from '../../../../src/mount/assemble.ts';
import { RunningConfigurations } from '../../../../src/mount/running-configuration.ts';
import type { UsedLabel } from '../../../../src/telemetry/used-labels.ts';

let registry: Registry;
let forgotten: string[];
let closed: string[];
let caches: Map<string, CacheStore>;
const nothing = () => {};

beforeEach(() => {
  registry = new Registry();
  forgotten = [];
  closed = [];
  caches = new Map(['stays', 'goes'].map(name => [name, {} as CacheStore]));
});

/** The parts of a configuration with these providers, and stages of the same names, as far as its beginning and its end need them. */
const partsWith = (...names: string[]): Parts => {
  const client = { prepare: nothing };
  const forget = (gone: readonly UsedLabel[]) =>
    void forgotten.push(...gone.filter(([label]) => label === 'sluice_provider').map(([, name]) => name));
  return {
    metrics: { registry, client, forget, prepareRequests: nothing, configLoaded: nothing },
    settings: { server: {}, models: [], passthrough: [], log: {} },
    providers: names.map(name => ({
      name,
      adapter: {},
      retire: nothing,
      watch: nothing,
      // Takes a while.
      close: () => new Promise(setImmediate).then(() => void closed.push(name)),
    })),
    records: { configure: nothing },
    background: { configure: nothing },
    buffered: { configure: nothing },
    routes: { generating: [] },
    chain: {
      stages: names.map(name => ({ name })),
      close: async () => {
        closed.push('stages');
        return [];
      },
    },
    passthrough: { close: nothing },
    caches,
    clock: { epoch_ms: () => 0 },
    setLogLevel: nothing,
  } as unknown as Parts;
};

/** An exchange of the current configuration that runs until `end` is called. */
function running(configurations: RunningConfigurations) {
  const { promise, resolve } = Promise.withResolvers<void>();
  const run = { run: () => promise } as unknown as ExchangeRun;
  configurations.current.exchanges.start(run);
  return { run, end: resolve };
}

it('keeps what a former configuration has alone until its last exchange is settled', async () => {
  const configurations = new RunningConfigurations(partsWith('stays', 'goes'));
  const exchanges = [running(configurations), running(configurations)];
  configurations.replace(partsWith('stays'));
  const later = running(configurations);
  const seen = () => [configurations.inFlight, forgotten, closed, [...caches.keys()]];
  expect(configurations.runs()).toEqual([...exchanges, later].map(({ run }) => run));
  exchanges[0]!.end();
  await new Promise(setImmediate);
  expect(seen()).toEqual([2, [], [], ['stays', 'goes']]);
  exchanges[1]!.end();
  await new Promise(setImmediate);
  // The stages first, which may still use their providers.
  expect(closed[0]).toBe('stages');
  expect(seen()).toEqual([1, ['goes'], closed, ['stays']]);
  later.end();
  await configurations.close();
});

it('closes when the exchanges of all configurations have ended, and what belongs to them is closed', async () => {
  const configurations = new RunningConfigurations(partsWith('goes'));
  const exchange = running(configurations);
  configurations.replace(partsWith('stays'));
  const closing = configurations.close().then(() => closed.push('all'));
  await new Promise(setImmediate);
  expect(closed).toEqual([]);
  exchange.end();
  await closing;
  expect(closed).toEqual(['stages', 'goes', 'stages', 'stays', 'all']);
});

it('shows the series of a gateway that has closed until no other one on the registry has their names', async () => {
  const [one, other] = [partsWith('goes'), partsWith('goes')].map(parts => new RunningConfigurations(parts));
  await one!.close();
  expect(forgotten).toEqual([]);
  other!.replace(partsWith('stays'));
  expect(forgotten).toEqual(['goes']);
  await other!.close();
});

it('forgets what is known of a provider once no configuration has it, and closes it', async () => {
  const configurations = new RunningConfigurations(partsWith('stays', 'goes'));
  configurations.replace(partsWith('stays'));
  expect(forgotten).toEqual(['goes']);
  await configurations.close();
  expect(closed.filter(name => name !== 'stages').toSorted()).toEqual(['goes', 'stays', 'stays']);
});
