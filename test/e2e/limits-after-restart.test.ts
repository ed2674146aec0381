import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { DiskQueue } from '../../src/mount/ledger/disk-queue.ts';
import { ask, clientKey, type GatewayUnderTest, startGateway } from '../support/gateway-under-test.ts';
import { completion } from '../support/hostile-setting.ts';
import { type RecordsPlace, recordsPlace } from '../support/records-place.ts';
import { type ScriptedUpstream, startScriptedUpstream, whole } from '../support/scripted-upstream.ts';
import { sampleRow } from '../unit/src/mount/ledger/sample-row.ts';

const model = 'aion-labs/aion-3.5';
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

const status = async (): Promise<number> => {
  const response = await gateway!.post(ask('Hi', { model, max_tokens: 1 }));
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
    expect(await queue.budgets('account', ['tester'], [Date.now() - 1000])).toHaveLength(2);
    await queue.close();
    await start({ tokens_per_day: 90 });
    expect(await status()).toBe(429);
    await gateway!.close();
    // Now they are in the ledger, once.
    await start({ tokens_per_day: 185 });
    expect([await status(), await status()]).toEqual([200, 429]);
  });
});
