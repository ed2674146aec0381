import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { DiskQueue } from '../../src/mount/ledger/disk-queue.ts';
import { ask, clientKey, type GatewayUnderTest, startGateway } from '../support/gateway-under-test.ts';
import { completion } from '../support/hostile-setting.ts';
import { type RecordsPlace, recordsPlace } from '../support/records-place.ts';
import { type ScriptedUpstream, startScriptedUpstream, whole } from '../support/scripted-upstream.ts';
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
});
