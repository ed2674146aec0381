import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Simulator, startSimulator } from '../../src/simulator/server.ts';
import { ask } from '../support/gateway-under-test.ts';
import { closeMounted, mounted } from '../support/mounted-gateway.ts';
import { until } from '../support/until.ts';

let simulator: Simulator;
let app: Awaited<ReturnType<typeof mounted>>;

beforeAll(async () => {
  simulator = await startSimulator();
  const plans = { free: { requests_per_minute: 2, concurrent_requests: 2, usd_per_month: 3 } };
  app = await mounted(simulator, undefined, { plans, usage_api: { enabled: true } });
});
afterAll(async () => {
  await closeMounted();
  await simulator.close();
});

const signUp = async (id: string): Promise<string> => {
  await app.gateway.accounts.create({ id, plan: 'free' });
  const { key } = await app.gateway.keys.create({ account: id, limits: { requests_per_minute: 50 } });
  return key;
};
const get = (path: string, key?: string) =>
  fetch(`${app.url}${path}`, key === undefined ? {} : { headers: { authorization: `Bearer ${key}` } });
const chat = async (key: string): Promise<number> => {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const body = JSON.stringify(ask('[[sim:say=Yes]]', { stream: false }));
  const reply = await fetch(app.chat, { method: 'POST', headers, body });
  await reply.arrayBuffer();
  return reply.status;
};

describe('a customer who has signed up', () => {
  it('asks with the same key what the account has used and what is left, also when nothing is left, and uses nothing by that', async () => {
    const [key, other] = [await signUp('acme'), await signUp('other')];
    // Were they counted, they would be with the refusal that follows.
    for (let at = 0; at < 4; at++) expect((await get('/v1/usage?by=nobody', key)).status).toBe(400);
    expect([await chat(key), await chat(key), await chat(key), await chat(other)]).toEqual([
      200, 200, 429, 200,
    ]);
    const used = async (key: string) => (await (await get('/v1/usage?by=model', key)).json()) as never;
    await until(
      async () => ((await used(key)) as { total: { requests: number } }).total.requests === 3,
      5000,
    );
    const limits = (await (await get('/v1/limits', key)).json()) as { data: object[] };
    expect(limits.data).toMatchObject([
      { name: 'requests_per_minute', max: 2, used: 2, remaining: 0, resets_at: expect.any(String) },
      { name: 'concurrent_requests', max: 2, used: 0, remaining: 2, resets_at: null },
      { name: 'usd_per_month', max: '3', used: expect.stringMatching(/^0\.\d+$/) },
      { name: 'requests_per_minute', key: expect.stringMatching(/^key_/), max: 50 },
    ]);
    expect(await used(key)).toMatchObject({ total: { requests: 3, failed_requests: 1 } });
    expect(await used(other)).toMatchObject({ total: { requests: 1 } });
    const [sum] = await app.gateway.usage.sum();
    expect(sum).toMatchObject({ requests: 4 });
  });

  it('is refused as everywhere without a key, and once the account is disabled', async () => {
    const missing = await get('/v1/limits');
    expect([missing.status, await missing.json()]).toEqual([
      401,
      { error: expect.objectContaining({ type: 'authentication_error' }) },
    ]);
    const key = await signUp('gone');
    expect((await get('/v1/limits', key)).status).toBe(200);
    await app.gateway.accounts.disable('gone');
    expect((await get('/v1/limits', key)).status).toBe(403);
    await app.gateway.accounts.enable('gone');
    expect((await get('/v1/limits', key)).status).toBe(200);
  });
});
