import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { CountingUpstream } from '../support/counting-upstream.ts';
import { dashboardAdmin } from '../support/dashboard-visitor.ts';
import { clientKey } from '../support/gateway-under-test.ts';
import { sidecarConfig } from '../support/sidecar-process.ts';
import { until } from '../support/until.ts';
import { WorkerFleet } from '../support/worker-fleet.ts';

const limitedKey = (name: string) => `sk-${name}-0123456789`;
const plans = {
  burst: { requests_per_minute: 10 },
  parallel: { concurrent_requests: 6 },
  daily: { tokens_per_day: 2000 },
};

const upstream = new CountingUpstream();
let directory: string;
let fleet: WorkerFleet;

const configOf = (records: string) =>
  sidecarConfig(upstream.url, {
    admin: dashboardAdmin(),
    log: { level: 'fatal' },
    plans,
    accounts: {
      tester: { keys: [{ value: clientKey }] },
      ...Object.fromEntries(
        Object.keys(plans).map(plan => [plan, { plan, keys: [{ value: limitedKey(plan) }] }]),
      ),
    },
    stores: { records },
  });
const count = (statuses: readonly number[], status: number) => statuses.filter(one => one === status).length;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'sluice-workers-'));
  await upstream.listen();
});
afterAll(async () => {
  await upstream.close();
  await rm(directory, { recursive: true, force: true });
});

describe('four workers', () => {
  beforeAll(async () => {
    fleet = await WorkerFleet.start(configOf(`sqlite:${join(directory, 'four.db')}`), 4);
  }, 120_000);
  afterAll(() => fleet?.stop());
  afterEach(() => upstream.release());

  it('admit exactly 10 of a burst of 50 at a limit of 10 a minute', async () => {
    const before = upstream.requests;
    const statuses = await fleet.sendMany(50, limitedKey('burst'));
    expect([count(statuses, 200), count(statuses, 429)]).toEqual([10, 40]);
    expect(upstream.requests - before).toBe(10);
  });

  it('run no more requests at once than the limit, and as many again afterwards', async () => {
    for (let round = 0; round < 2; round++) {
      upstream.hold(Number.POSITIVE_INFINITY);
      let answered = 0;
      const sending = Array.from({ length: 40 }, async (_, at) => {
        const reply = await fleet.send(at % 4, limitedKey('parallel'));
        answered++;
        await reply.arrayBuffer();
        return reply.status;
      });
      await until(() => upstream.held === 6 && answered === 34);
      upstream.release();
      const statuses = await Promise.all(sending);
      expect([count(statuses, 200), count(statuses, 429)]).toEqual([6, 34]);
      await until(async () => (await fleet.metric('sluice_in_flight')) === 0);
    }
  });
});
