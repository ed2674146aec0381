import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from '@jest/globals';
import type { LimitName } from '../../src/gateway/limits/limit-table.ts';
import { auth, MemoryStateStore, rateLimit } from '../../src/index.ts';
import { startSimulator } from '../../src/simulator/server.ts';
import { allStages, chainOf, post, proxyTo, settlements, startEcho } from '../support/chain-app.ts';
import { alongside, closeApps, startApp } from '../support/express-app.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { ask, clientKey } from '../support/gateway-under-test.ts';
import { expectRefusal } from '../support/hostile-setting.ts';
import { until } from '../support/until.ts';

afterEach(closeApps);

const chat = '/v1/chat/completions';
const keys = [{ value: clientKey }];

/** The whole chain with limits in front of the application's proxy. */
async function startLimitedApp(plan: object) {
  const state = new MemoryStateStore(new FakeClock());
  const simulator = alongside(await startSimulator());
  const { outcomes, stage } = settlements();
  const app = await startApp(app => {
    const accounts = { tester: { plan: 'tested', keys } };
    const chain = chainOf([stage, ...allStages()], { accounts, plans: { tested: plan }, state });
    app.use(chain, proxyTo(simulator));
  });
  const remaining = (name: LimitName, max: number) => state.statuses('tester', [{ name, max }])[0]!.remaining;
  const settled = async (count: number) => {
    await until(() => outcomes.length === count);
    return outcomes.reduce((sum, { usage }) => sum + usage.prompt_tokens + usage.completion_tokens, 0);
  };
  return { url: app.url, remaining, settled };
}

describe("a chain in front of the application's own proxy", () => {
  it('admits exactly the limit and settles the actual usage', async () => {
    const { url, remaining, settled } = await startLimitedApp({
      requests_per_minute: 20,
      tokens_per_day: 100_000,
      concurrent_requests: 20,
    });
    const replies = await Promise.all(
      Array.from({ length: 60 }, async (_, at) => {
        const reply = await post(url + chat, ask('[[sim:tokens=9]]', { stream: at % 2 === 0 }));
        await reply.text();
        return reply;
      }),
    );
    expect(replies.filter(({ status }) => status === 200)).toHaveLength(20);
    const refused = replies.filter(({ status }) => status === 429);
    expect(refused).toHaveLength(40);
    expect(refused[0]!.headers.get('x-ratelimit-limit-requests')).toBe('20');
    const tokens = await settled(60);
    await until(() => remaining('concurrent_requests', 20) === 20);
    expect(tokens).toBeGreaterThan(20 * 9);
    expect(100_000 - remaining('tokens_per_day', 100_000)).toBe(tokens);
  });

  it('frees its limits when its clock moves on', async () => {
    const clock = new FakeClock();
    const app = await startApp(app => {
      const accounts = { tester: { plan: 'tested', keys } };
      const options = { accounts, plans: { tested: { requests_per_minute: 1 } }, clock };
      app.use(chainOf([auth(), rateLimit()], options), (_request, response) => void response.end());
    });
    const statusOf = async () => (await post(`${app.url}/v1/models`, {})).status;
    expect([await statusOf(), await statusOf()]).toEqual([200, 429]);
    clock.advance(61_000);
    expect(await statusOf()).toBe(200);
  });

  it('counts a request whose client has left and releases its concurrency permit', async () => {
    const { url, remaining } = await startLimitedApp({ requests_per_minute: 5, concurrent_requests: 5 });
    const controller = new AbortController();
    const asked = fetch(url + chat, {
      method: 'POST',
      headers: { authorization: `Bearer ${clientKey}`, 'content-type': 'application/json' },
      body: JSON.stringify(ask('[[sim:ttft=5000 tokens=9]]', { stream: true })),
      signal: controller.signal,
    });
    await until(() => remaining('concurrent_requests', 5) === 4);
    await sleep(50);
    controller.abort();
    await expect(asked).rejects.toThrow();
    await until(() => remaining('concurrent_requests', 5) === 5);
    expect(remaining('requests_per_minute', 5)).toBe(4);
  });

  it('shows its own limits instead of those of the upstream behind the proxy', async () => {
    const state = new MemoryStateStore(new FakeClock());
    const app = await startApp(app => {
      const accounts = { tester: { limits: { requests_per_minute: 7 }, keys } };
      app.use(chainOf(allStages(), { accounts, state }), (_request, response) => {
        response.setHeader('x-ratelimit-limit-requests', '9999');
        response.setHeader('x-ratelimit-remaining-requests', '9998');
        response.json({
          choices: [{ index: 0, message: { role: 'assistant', content: 'Yes.' }, finish_reason: 'stop' }],
          usage: { prompt_tokens: 1, completion_tokens: 1 },
        });
      });
    });
    const reply = await post(app.url + chat, ask('Hello?'));
    expect([reply.status, reply.headers.get('x-ratelimit-limit-requests')]).toEqual([200, '7']);
    expect(reply.headers.get('x-ratelimit-remaining-requests')).toBe('6');
  });
});

describe('the rate-limit stage alone', () => {
  it('limits all requests without an account together, on every path', async () => {
    const echo = alongside(await startEcho());
    const app = await startApp(app => {
      app.use(rateLimit({ limits: { requests_per_minute: 3 } }));
      app.use(proxyTo(echo));
    });
    const paths = ['/v1/embeddings', '/v1/audio/speech', '/anything', '/v1/embeddings'];
    const statuses = [];
    for (const path of paths) {
      const reply = await post(app.url + path, { input: 'Hello' });
      statuses.push(reply.status);
      if (reply.status === 429)
        await expectRefusal(
          reply,
          429,
          'rate_limit_error',
          'Rate limit exceeded: 3 requests per minute. Retry in 60 seconds.',
        );
      else await reply.text();
    }
    expect(statuses).toEqual([200, 200, 200, 429]);
    // The catalog is public.
    expect((await fetch(`${app.url}/v1/models`)).status).toBe(200);
  });
});
