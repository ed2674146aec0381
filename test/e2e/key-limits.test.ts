import { DatabaseSync } from 'node:sqlite';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { ask, type GatewayUnderTest, startGateway } from '../support/gateway-under-test.ts';
import { completion } from '../support/hostile-setting.ts';
import { type RecordsPlace, recordsPlace } from '../support/records-place.ts';
import { type RedisServer, startRedis } from '../support/redis-server.ts';
import { type ScriptedUpstream, startScriptedUpstream, whole } from '../support/scripted-upstream.ts';
import { until } from '../support/until.ts';

/** Of every reply: 90 tokens. */
const usage = { prompt_tokens: 60, completion_tokens: 30, total_tokens: 90 };

let redis: RedisServer;
let upstream: ScriptedUpstream;
let place: RecordsPlace;
const gateways: GatewayUnderTest[] = [];

beforeAll(async () => {
  [redis, upstream, place] = await Promise.all([
    startRedis(),
    startScriptedUpstream(whole(200, completion('Hello.', {}, { usage }))),
    recordsPlace(),
  ]);
});
afterEach(() => Promise.all(gateways.splice(0).map(gateway => gateway.close())));
afterAll(async () => {
  await Promise.all([redis.stop(), upstream.close(), place.remove()]);
});

async function start(limits: object, state: string, stages?: readonly object[]): Promise<GatewayUnderTest> {
  const gateway = await startGateway({
    upstream,
    config: {
      // A machine that is busy with other tests is no outage.
      stores: { ...place.stores, state, ...(state !== 'memory' && { state_timeout_ms: 10_000 }) },
      accounts: { tester: { limits, keys: [] } },
      ...(stages && { stages: ['error-envelope', 'auth', 'validation', ...stages] }),
    } as never,
  });
  gateways.push(gateway);
  return gateway;
}

const newKey = (limits: Record<string, unknown>) =>
  place.look(({ keys }) =>
    keys.create(
      { account: 'tester', name: '', expires_ms: null, limits },
      { actor: 'test', at_ms: Date.now() },
    ),
  );

async function send(gateway: GatewayUnderTest, key: string) {
  const response = await gateway.post(ask('Hi', { max_tokens: 30 }), {
    headers: { authorization: `Bearer ${key}` },
  });
  return { status: response.status, headers: response.headers, text: await response.text() };
}

describe('limits of keys, at two instances with one Redis', () => {
  it('admit no more than the key may, and all keys together no more than their account', async () => {
    const both = [
      await start({ requests_per_minute: 7 }, redis.url),
      await start({ requests_per_minute: 7 }, redis.url),
    ];
    const [one, other, free] = [
      await newKey({ requests_per_minute: 3 }),
      await newKey({ requests_per_minute: 3 }),
      await newKey({}),
    ];
    const sendMany = (key: string) =>
      Promise.all(Array.from({ length: 10 }, (_, at) => send(both[at % 2]!, key)));
    const [ofOne, ofOther] = await Promise.all([sendMany(one.key), sendMany(other.key)]);
    const admitted = (sent: readonly { status: number }[]) =>
      sent.filter(({ status }) => status === 200).length;
    expect([admitted(ofOne), admitted(ofOther)]).toEqual([3, 3]);
    expect(admitted(await sendMany(free.key))).toBe(1);

    const refusedBy = async () => {
      const rows = await place.look(({ ledger }) => ledger.list({ key_id: one.record.id, limit: 99 }));
      return rows.map(({ refused_by }) => refused_by);
    };
    await until(async () => (await refusedBy()).includes('key.requests_per_minute'));
  });

  it('are named as limits of the key in the refusal, the headers and the log', async () => {
    const gateway = await start({ requests_per_minute: 100 }, redis.url, [
      { 'rate-limit': { ietf_headers: true } },
    ]);
    const { key } = await newKey({ requests_per_minute: 1, concurrent_requests: 5 });
    const first = await send(gateway, key);
    expect(Object.fromEntries(first.headers)).toMatchObject({
      'x-ratelimit-limit-requests': '1',
      'x-ratelimit-remaining-requests': '0',
      'ratelimit-policy': expect.stringMatching(
        /^"rpm";q=100;w=60, "rpm-key";q=1;w=60, "concurrency-key";q=5/,
      ),
    });
    const second = await send(gateway, key);
    expect(second.status).toBe(429);
    expect(JSON.parse(second.text)).toEqual({
      error: {
        type: 'rate_limit_error',
        message: expect.stringMatching(
          /^Rate limit exceeded: 1 request per minute for this API key\. Retry in \d+ seconds?\.$/,
        ),
      },
    });
    expect(second.headers.get('x-ratelimit-limit-requests')).toBe('1');
    expect(
      await gateway.metric('sluice_limit_decisions_total', {
        limit: 'key.requests_per_minute',
        decision: 'refused',
      }),
    ).toBe(1);
  });

  it('follow a change at every instance, and what was used stays counted', async () => {
    const both = [await start({}, redis.url), await start({}, redis.url)];
    const { key, record } = await newKey({ requests_per_minute: 1 });
    expect((await send(both[0]!, key)).status).toBe(200);
    for (const gateway of both) expect((await send(gateway, key)).status).toBe(429);
    const changed_ms = performance.now();
    await place.look(({ keys }) =>
      keys.change(record.id, { limits: { requests_per_minute: 3 } }, { actor: 'test', at_ms: Date.now() }),
    );
    for (const gateway of both) await until(async () => (await send(gateway, key)).status === 200);
    expect(performance.now() - changed_ms).toBeLessThan(5000);
    for (const gateway of both) expect((await send(gateway, key)).status).toBe(429);
  });
});

describe('limits of keys, in memory', () => {
  it('that cannot be read refuse the requests of their key alone, which is listed as others are', async () => {
    const [broken, other] = [await newKey({}), await newKey({})];
    const database = new DatabaseSync(place.stores.records.slice('sqlite:'.length));
    database.prepare("UPDATE api_keys SET limits = '{broken' WHERE id = ?").run(broken.record.id);
    database.close();
    const gateway = await start({}, 'memory');
    const sent = await Promise.all([broken, other].map(({ key }) => send(gateway, key)));
    expect(sent.map(({ status }) => status)).toEqual([400, 200]);
    const listed = await place.look(({ keys }) => keys.list({ limit: 99 }));
    expect(listed.map(({ id }) => id)).toContain(broken.record.id);
    await place.look(({ keys }) => keys.revoke(broken.record.id, { actor: 'test', at_ms: Date.now() }));
  });
});
