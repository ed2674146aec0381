import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { ask, type GatewayUnderTest, startGateway } from '../support/gateway-under-test.ts';
import { completion } from '../support/hostile-setting.ts';
import { type RecordsPlace, recordsPlace } from '../support/records-place.ts';
import { type RedisServer, startRedis } from '../support/redis-server.ts';
import { type ScriptedUpstream, startScriptedUpstream, whole } from '../support/scripted-upstream.ts';
import { until } from '../support/until.ts';

let redis: RedisServer;
let upstream: ScriptedUpstream;
let place: RecordsPlace;
const gateways: GatewayUnderTest[] = [];
const operator = () => ({ actor: 'test', at_ms: Date.now() });

beforeAll(async () => {
  [redis, upstream, place] = await Promise.all([
    startRedis(),
    startScriptedUpstream(whole(200, completion('Hello.'))),
    recordsPlace(),
  ]);
});
afterEach(() => Promise.all(gateways.splice(0).map(gateway => gateway.close())));
afterAll(async () => {
  await Promise.all([redis.stop(), upstream.close(), place.remove()]);
});

/** The organisation is in the configuration, the team and its accounts are in the store. */
async function start(state: string): Promise<GatewayUnderTest> {
  const gateway = await startGateway({
    upstream,
    config: {
      // A machine that is busy with other tests is no outage.
      stores: { ...place.stores, state, ...(state !== 'memory' && { state_timeout_ms: 10_000 }) },
      accounts: {
        org: { limits: { requests_per_minute: 9 }, keys: [{ value: 'sk-of-the-org' }] },
        sales: { parent: 'org', keys: [{ value: 'sk-of-sales' }] },
      },
    } as never,
  });
  gateways.push(gateway);
  return gateway;
}

async function send(gateway: GatewayUnderTest, key: string) {
  const response = await gateway.post(ask('Hi', { max_tokens: 30 }), {
    headers: { authorization: `Bearer ${key}` },
  });
  return { status: response.status, headers: response.headers, text: await response.text() };
}

const admittedOf = async (instances: readonly GatewayUnderTest[], key: string, count: number) => {
  const sent = await Promise.all(
    Array.from({ length: count }, (_, at) => send(instances[at % instances.length]!, key)),
  );
  return sent.filter(({ status }) => status === 200).length;
};

describe('the limits of an organisation, at two instances with one Redis', () => {
  it('hold for its teams and accounts together, wherever those are kept, and name the parent alone', async () => {
    const both = [await start(redis.url), await start(redis.url)];
    const keys = await place.look(async ({ accounts, keys }) => {
      const limits = { requests_per_minute: 4 };
      await accounts.create({ id: 'team', plan: null, limits, parent: 'org' }, operator());
      const made: string[] = [];
      for (const id of ['one', 'two']) {
        await accounts.create({ id, plan: null, limits: {}, parent: 'team' }, operator());
        made.push((await keys.create({ account: id, name: '', expires_ms: null }, operator())).key);
      }
      return made;
    });
    const ofTeam = await Promise.all(keys.map(key => admittedOf(both, key, 8)));
    expect(ofTeam[0]! + ofTeam[1]!).toBe(4);
    expect(await admittedOf(both, 'sk-of-sales', 8)).toBe(5);
    expect(await admittedOf(both, 'sk-of-the-org', 2)).toBe(0);

    const refused = await send(both[0]!, keys[0]!);
    expect(refused.headers.get('x-ratelimit-remaining-requests')).toBe('0');
    expect(JSON.parse(refused.text).error.message).toMatch(
      /^Rate limit exceeded: [49] requests per minute of the parent account\. Retry in \d+ seconds?\.$/,
    );
    const counted = { limit: 'parent.requests_per_minute', decision: 'refused' };
    expect(await both[0]!.metric('sluice_limit_decisions_total', counted)).toBeGreaterThan(0);
    for (const account of ['org', 'team'])
      expect(
        await both[0]!.metric('sluice_limit_used_ratio', { account, limit: 'requests_per_minute' }),
      ).toBe(1);

    await place.look(({ accounts }) => accounts.disable('team', operator()));
    await until(async () => (await send(both[1]!, keys[1]!)).status === 403);
    expect((await send(both[1]!, 'sk-of-sales')).status).toBe(429);
  });
});
