import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { DiskQueue } from '../../src/mount/ledger/disk-queue.ts';
import { ask, clientKey, type GatewayUnderTest, startGateway } from '../support/gateway-under-test.ts';
import { completion } from '../support/hostile-setting.ts';
import { type RecordsPlace, recordsPlace } from '../support/records-place.ts';
import { type ScriptedUpstream, startScriptedUpstream, whole } from '../support/scripted-upstream.ts';
import { until } from '../support/until.ts';
import { sampleRow } from '../unit/src/mount/ledger/sample-row.ts';

const model = 'aion-labs/aion-3.5';
const other = 'aion-labs/aion-3.0';
/** Of every reply: 90 tokens. */
const usage = { prompt_tokens: 60, completion_tokens: 30, total_tokens: 90 };

let upstream: ScriptedUpstream;
let place: RecordsPlace;
let gateway: GatewayUnderTest | undefined;

beforeAll(async () => {
  upstream = await startScriptedUpstream(whole(200, completion('Hello.', {}, { usage })));
});
afterAll(() => upstream.close());
afterEach(async () => {
  await gateway?.close();
  gateway = undefined;
  await place.remove();
});

const start = async (limits: object): Promise<GatewayUnderTest> => {
  gateway = await startGateway({
    upstream,
    config: {
      stores: place.stores,
      accounts: { tester: { limits, keys: [{ value: clientKey }] } },
      stages: ['error-envelope', 'auth', 'validation', { 'rate-limit': { initial_completion_tokens: 1 } }],
    } as never,
  });
  return gateway;
};

const status = async (asked = model): Promise<number> => {
  const response = await gateway!.post(ask('Hi', { model: asked, max_tokens: 1 }));
  await response.arrayBuffer();
  return response.status;
};

describe('limits after a restart', () => {
  beforeEach(async () => {
    place = await recordsPlace();
  });

  it("include the day's earlier usage and refuse what exceeds it", async () => {
    await start({ tokens_per_day: 100 });
    expect(await status()).toBe(200);
    await gateway!.close();
    await start({ tokens_per_day: 200 });
    expect(await status()).toBe(200);
    await gateway!.close();
    await start({ tokens_per_day: 180 });
    expect(await status()).toBe(429);
  });

  it('include the earlier usage of each limited model and nothing of other models', async () => {
    const limits = {
      tokens_per_day: 1000,
      models: { [model]: { tokens_per_day: 90 }, [other]: { usd_per_month: 0.001 } },
    };
    await start(limits);
    expect(await status()).toBe(200);
    await gateway!.close();
    await start(limits);
    expect([await status(), await status(other)]).toEqual([429, 200]);
  });

  it('include the rows that wait in the queue on disk', async () => {
    const queue = new DiskQueue(place.stores.ledger_queue, 10);
    const waiting = {
      account: 'tester',
      model,
      started_ms: Date.now(),
      prompt_tokens: 60,
      completion_tokens: 30,
    };
    await queue.append([sampleRow(waiting), sampleRow({ ...waiting, account: 'another' })]);
    expect(await queue.budgets('account', ['tester'], new Date().toISOString().slice(0, 10))).toHaveLength(2);
    await queue.close();
    await start({ tokens_per_day: 90 });
    expect(await status()).toBe(429);
    await gateway!.close();
    // Now they are in the ledger, once.
    await start({ tokens_per_day: 185 });
    expect([await status(), await status()]).toEqual([200, 429]);
  });

  it('write a few rows for a refused flood and count every request of it', async () => {
    await start({ requests_per_minute: 1 });
    expect(await status()).toBe(200);
    const flood = await Promise.all(Array.from({ length: 200 }, () => status()));
    expect(new Set(flood)).toEqual(new Set([429]));
    await gateway!.close();
    // What a busy store did not take in time is on disk, and the next start writes it.
    await start({ requests_per_minute: 1 });
    await place.look(async store => {
      const requests = async () => (await store.usage.sum({ account: 'tester', by: [] }))[0]?.requests;
      await until(async () => (await requests()) === 201);
      const rows = await store.ledger.list({ limit: 99 });
      expect(rows.filter(({ end_reason }) => end_reason === 'completed')).toHaveLength(1);
      expect(rows.length).toBeLessThan(50);
      expect(await store.usage.refusals({ limit: 9 })).toMatchObject([
        { account: 'tester', model: '', status: 429, end_reason: 'refused', requests: 200 },
      ]);
      expect(await store.usage.sum({ account: 'tester', by: [] })).toMatchObject([
        { requests: 201, failed_requests: 200, prompt_tokens: 60 },
      ]);
    });
  });
});
