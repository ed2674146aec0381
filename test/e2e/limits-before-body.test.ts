import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { LimitName } from '../../src/stores/limits/limit-table.ts';
import { MemoryStateStore } from '../../src/stores/limits/memory-state-store.ts';
import type { StateStore } from '../../src/stores/limits/state-store.ts';
import { ask, clientKey, type GatewayUnderTest, startGateway } from '../support/gateway-under-test.ts';
import { completion } from '../support/hostile-setting.ts';
import { type RedisServer, startRedis } from '../support/redis-server.ts';
import { openRedisStore, type RedisStore } from '../support/redis-store.ts';
import { type ScriptedUpstream, startScriptedUpstream, whole } from '../support/scripted-upstream.ts';
import { until } from '../support/until.ts';

const limits = { requests_per_minute: 100, concurrent_requests: 50, tokens_per_minute: 2000 };
/** What a request costs that succeeds. */
const usage = { prompt_tokens: 6, completion_tokens: 4 };

let redis: RedisServer;
let upstream: ScriptedUpstream;
const opened: (GatewayUnderTest | StateStore)[] = [];

beforeAll(async () => {
  redis = await startRedis();
  upstream = await startScriptedUpstream();
});
afterEach(async () => {
  for (const one of opened.splice(0)) await one.close();
});
afterAll(async () => {
  await upstream?.close();
  await redis?.stop();
});

let stores = 0;
const redisStore = (): Promise<RedisStore> =>
  openRedisStore({ url: redis.url, key_prefix: `before-body-${++stores}:`, timeout_ms: 10_000 });

/** A gateway whose account has `plan`, with its state in `state`, and what is used of a limit. */
async function start(state: StateStore, plan: object) {
  const gateway = await startGateway({
    upstream,
    server: { max_body_bytes: 1000 },
    options: { state },
    config: {
      plans: { tested: plan },
      accounts: { tester: { plan: 'tested', keys: [{ value: clientKey }] } },
    },
  });
  opened.push(gateway, state);
  const used = async (name: LimitName) => {
    const [standing] = await state.statuses('tester', [{ name, max: 1000 }]);
    return 1000 - standing!.remaining;
  };
  const send = async (body: unknown) => {
    const reply = await gateway.post(body);
    await reply.text();
    return reply.status;
  };
  return { gateway, used, send };
}

describe.each([
  ['in memory', async () => new MemoryStateStore()],
  ['in Redis', async () => (await redisStore()).store],
])('the request count with limits %s', (_, open) => {
  it('takes one request when a request succeeds or its content is refused, and none when it fails', async () => {
    const { used, send } = await start(await open(), limits);
    upstream.reply(whole(200, completion('Yes.', {}, { usage })));
    expect(await send(ask('Hello?'))).toBe(200);
    expect(await send('{')).toBe(400);
    expect(await send(ask('Hello?', { model: 'a/unknown' }))).toBe(400);
    expect(await send(ask('x'.repeat(1000)))).toBe(413);
    upstream.reply(whole(400, { error: { message: 'no' } }));
    expect(await send(ask('Hello?'))).toBe(400);
    upstream.reply(whole(500, 'no'));
    expect(await send(ask('Hello?'))).toBe(502);
    // The last may not have been settled when its client had the reply.
    await until(async () => (await used('concurrent_requests')) === 0);
    await until(async () => (await used('requests_per_minute')) === 5);
    await until(async () => (await used('tokens_per_minute')) === 10);
  });

  it('takes one request and no tokens when the token limit refuses', async () => {
    const { used, send } = await start(await open(), { ...limits, tokens_per_minute: 600 });
    upstream.reply(
      whole(200, completion('Yes.', {}, { usage: { prompt_tokens: 300, completion_tokens: 700 } })),
    );
    expect(await send(ask('Hello?'))).toBe(200);
    await until(async () => (await used('tokens_per_minute')) === 1000);
    expect(await send(ask('Hello?'))).toBe(429);
    await until(async () => (await used('concurrent_requests')) === 0);
    expect([await used('requests_per_minute'), await used('tokens_per_minute')]).toEqual([2, 1000]);
  });

  it('is reported with the token limit on a reply and on a refusal', async () => {
    const { gateway } = await start(await open(), limits);
    upstream.reply(whole(200, completion('Yes.', {}, { usage })));
    const reply = await gateway.post(ask('Hello?'));
    await reply.text();
    await until(() => gateway.gateway.inFlight === 0);
    const refused = await gateway.post('{');
    await refused.text();
    const told = [reply, refused].map(({ headers }) =>
      ['limit-requests', 'remaining-requests', 'limit-tokens'].map(name =>
        headers.get(`x-ratelimit-${name}`),
      ),
    );
    expect(told).toEqual([
      ['100', '99', '2000'],
      ['100', '98', '2000'],
    ]);
    expect(refused.headers.get('x-ratelimit-remaining-tokens')).not.toBeNull();
  });
});

describe('a request whose limits are in Redis', () => {
  const requests = { requests_per_minute: 100, concurrent_requests: 50 };
  it.each([
    [1, requests],
    [1, { tokens_per_minute: 10_000 }],
    [2, { ...requests, tokens_per_minute: 10_000 }],
  ])('calls Redis %i times for %j', async (times, plan) => {
    const { store, metric } = await redisStore();
    const { send } = await start(store, plan);
    upstream.reply(whole(200, completion('Yes.', {}, { usage })));
    const asked = () => metric('sluice_store_operation_duration_seconds_count', 'operation="reserve"');
    const before = await asked();
    expect(await send(ask('Hello?'))).toBe(200);
    expect((await asked()) - before).toBe(times);
  });
});
