import { expect, it } from '@jest/globals';
import { Registry } from 'prom-client';
import { patchesOf, type ShownParts } from '../../../../plugins/dashboard/live-parts.ts';
import { openParts } from '../../../../plugins/dashboard/overview-parts.ts';
import { trafficQuestionOf } from '../../../../plugins/dashboard/traffic-range.ts';
import { Dice } from '../../../../src/simulator/seed.ts';
import { madeUpRow } from '../../../support/dashboard-traffic.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { openRecords } from '../../../support/open-records.ts';

const minute_ms = 60_000;
const providers = ['azure-eu', 'openai', 'vllm-berlin'].map(name => ({
  name,
  address: { host: `${name}.example.com`, port: 443 },
  adapter: 'openai',
  config: {},
  control: undefined,
  healthy: true,
  breaker: { state: 'closed', share: 1, retry_in_ms: 0 },
  bulkhead: { in_flight: 3, queued: 0, hasPermit: true },
}));

it('sends an open overview less than 2 MB an hour, and reads for many readers once', async () => {
  const clock = new FakeClock();
  const store = await openRecords({ kind: 'memory' });
  await store.migrate(clock.epoch_ms());
  const dice = new Dice(7);
  const random = () => dice.roll();
  const request = (started_ms: number) => {
    const { name } = providers[Math.floor(random() * 3)]!;
    const row = madeUpRow('acme', `maker/model-${Math.floor(random() * 4)}`, 2, started_ms, random);
    return {
      ...row,
      provider: name,
      attempts_made: row.attempts_made.map(one => ({ ...one, provider: name })),
    };
  };
  const serve = (count: number, last_ms: number) =>
    store.ledger.insert(Array.from({ length: count }, () => request(clock.epoch_ms() - random() * last_ms)));
  await serve(6000, 60 * minute_ms);
  let reads = 0;
  const points: typeof store.traffic.points = (...asked) => {
    reads++;
    return store.traffic.points(...asked);
  };
  const registry = new Registry();
  const context = {
    clock,
    providers,
    records: { store: { ...store, traffic: { ...store.traffic, points } } },
    catalog: { models: [] },
    state: { outage: undefined },
    server: {
      registry: async () => registry,
      all: async () => ({ in_flight: Math.floor(random() * 20), ready: true, conditions: [], providers }),
    },
  };
  const asking = { context, scope: { sees: { money: true } } };
  const question = trafficQuestionOf(new URLSearchParams());
  const shown: ShownParts = new Map();
  const sent: number[] = [];
  for (let passed_ms = 0; passed_ms < 2 * minute_ms; passed_ms += 2000) {
    const parts = await openParts(asking as never, question);
    for (let reader = 0; reader < 20; reader++)
      expect((await openParts(asking as never, question)).traffic).toBe(parts.traffic);
    sent.push(JSON.stringify(patchesOf(parts, shown) ?? '').length);
    clock.advance(2000);
    await serve(10, 2000);
  }
  const [first = 0, ...later] = sent;
  const hour_bytes = first + 30 * later.reduce((sum, bytes) => sum + bytes, 0);
  expect(hour_bytes).toBeLessThan(2_000_000);
  // Every ten seconds, also of the time before.
  expect(reads).toBe(2 * 12);
  await store.close();
});
