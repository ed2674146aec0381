import { afterEach, describe, expect, it } from '@jest/globals';
import { ask, clientKey } from '../support/gateway-under-test.ts';
import { completion, expectRefusal } from '../support/hostile-setting.ts';
import { closeLimited, startLimited } from '../support/limited-gateway.ts';
import { whole } from '../support/scripted-upstream.ts';
import { until } from '../support/until.ts';

afterEach(closeLimited);

const many = <T>(count: number, make: (at: number) => Promise<T>) =>
  Promise.all(Array.from({ length: count }, (_, at) => make(at)));
const admittedOf = (replies: readonly Response[]) => replies.filter(({ status }) => status === 200);
const drained = (replies: readonly Response[]) => Promise.all(replies.map(reply => reply.text()));

describe('a burst of 500 requests', () => {
  it('is admitted up to the exact limit, and the rest gets 429 with Retry-After', async () => {
    const { upstream, send, clock } = await startLimited({ requests_per_minute: 137 });
    upstream.reply(whole(200, completion('Yes.')));
    const replies = await many(500, () => send());
    expect(admittedOf(replies)).toHaveLength(137);
    expect(upstream.requests).toHaveLength(137);
    const refused = replies.filter(({ status }) => status !== 200);
    for (const reply of refused) {
      expect([reply.headers.get('retry-after'), reply.headers.get('retry-after-ms')]).toEqual([
        '60',
        '60000',
      ]);
      const message = 'Rate limit exceeded: 137 requests per minute. Retry in 60 seconds.';
      await expectRefusal(reply, 429, 'rate_limit_error', message);
    }
    await drained(admittedOf(replies));
    clock.advance(60_000);
    const next = await many(200, () => send());
    expect(admittedOf(next)).toHaveLength(137);
    await drained(next);
  });

  it('is admitted up to the limit of each of two accounts', async () => {
    const keys = [clientKey, 'sk-another-key-0123456789'];
    const { upstream, gateway } = await startLimited(
      {},
      {
        config: {
          plans: { tested: { requests_per_minute: 40 } },
          accounts: {
            tester: { plan: 'tested', keys: [{ value: keys[0]! }] },
            other: { plan: 'tested', limits: { requests_per_minute: 25 }, keys: [{ value: keys[1]! }] },
          },
        },
      },
    );
    upstream.reply(whole(200, completion('Yes.')));
    const replies = await many(500, async at => {
      const key = keys[at % 2]!;
      const reply = await gateway.post(ask('Hello?'), { headers: { authorization: `Bearer ${key}` } });
      await reply.text();
      return { key, reply };
    });
    const admitted = (of: string) =>
      admittedOf(replies.filter(({ key }) => key === of).map(({ reply }) => reply)).length;
    expect(keys.map(admitted)).toEqual([40, 25]);
  });

  it('is counted request by request when all share one x-request-id', async () => {
    const { upstream, send } = await startLimited({ concurrent_requests: 10, requests_per_minute: 300 });
    const waiting: (() => void)[] = [];
    upstream.reply(socket => waiting.push(() => socket.write(whole(200, completion('Yes.')))));
    const replies: Response[] = [];
    const all = many(100, async () =>
      replies.push(await send({}, { headers: { 'x-request-id': 'the-same' } })),
    );
    await until(() => replies.length >= 90);
    for (const answer of waiting) answer();
    await all;
    expect(admittedOf(replies)).toHaveLength(10);
    await drained(replies);
  });
});

describe('the order of the limits and the other checks', () => {
  const limits = { requests_per_minute: 3, tokens_per_minute: 10_000 };

  it('counts nothing when a request is refused before the account is known', async () => {
    const { gateway, remaining } = await startLimited(limits);
    const replies = await Promise.all([
      gateway.post(ask('Hello?'), { headers: { authorization: 'Bearer sk-unknown' } }),
      gateway.post({}, { path: '/v1/nowhere' }),
      fetch(`${gateway.url}/v1/chat/completions`, { headers: { authorization: `Bearer ${clientKey}` } }),
    ]);
    expect(replies.map(({ status }) => status)).toEqual([401, 404, 405]);
    await drained(replies);
    expect(remaining('requests_per_minute', 3)).toBe(3);
  });

  it('counts one request and no tokens when the content of a request is refused', async () => {
    const { gateway, send, remaining, idle } = await startLimited(limits, {
      server: { max_body_bytes: 1000 },
    });
    const replies = await Promise.all([
      send({ model: 'a/unknown' }),
      gateway.post('{'),
      send({ user: 'x'.repeat(1000) }),
    ]);
    expect(replies.map(({ status }) => status)).toEqual([400, 400, 413]);
    await drained(replies);
    await idle();
    expect(remaining('requests_per_minute', 3)).toBe(0);
    expect(remaining('tokens_per_minute', 10_000)).toBe(10_000);
  });

  it('refuses with 429 before 413 and 400, with Retry-After and the rate headers', async () => {
    const { upstream, gateway, send, idle } = await startLimited(
      { ...limits, requests_per_minute: 1 },
      { server: { max_body_bytes: 1000 } },
    );
    upstream.reply(whole(200, completion('Yes.')));
    await (await send()).text();
    await idle();
    for (const faulty of [
      () => send({ model: 'a/unknown' }),
      () => gateway.post('{'),
      () => send({ user: 'x'.repeat(1000) }),
    ]) {
      const reply = await faulty();
      expect([reply.headers.get('retry-after'), reply.headers.get('x-ratelimit-limit-requests')]).toEqual([
        '60',
        '1',
      ]);
      expect(reply.headers.get('x-ratelimit-remaining-tokens')).toBe('9990');
      const message = 'Rate limit exceeded: 1 request per minute. Retry in 60 seconds.';
      await expectRefusal(reply, 429, 'rate_limit_error', message);
    }
  });

  it('refuses with 400 and 413 before the 429 of a token limit', async () => {
    const { upstream, gateway, send, idle } = await startLimited(
      { tokens_per_day: 600 },
      { server: { max_body_bytes: 1000 } },
    );
    const usage = { prompt_tokens: 300, completion_tokens: 700 };
    upstream.reply(whole(200, completion('Yes.', {}, { usage })));
    await (await send()).text();
    await idle();
    await expectRefusal(await send({ model: 'a/unknown' }), 400, 'invalid_request_error');
    await expectRefusal(await gateway.post('{'), 400, 'invalid_request_error');
    await expectRefusal(await send({ user: 'x'.repeat(1000) }), 413, 'invalid_request_error');
    await expectRefusal(await send(), 429, 'rate_limit_error');
  });

  it('returns the request when the provider failed and keeps it when a token limit refused', async () => {
    const { upstream, send, remaining, idle } = await startLimited({ ...limits, tokens_per_minute: 600 });
    upstream.reply(whole(500, 'no'));
    expect((await send()).status).toBe(502);
    await idle();
    expect([remaining('requests_per_minute', 3), remaining('tokens_per_minute', 600)]).toEqual([3, 600]);
    const usage = { prompt_tokens: 300, completion_tokens: 700 };
    upstream.reply(whole(200, completion('Yes.', {}, { usage })));
    await (await send()).text();
    await idle();
    await expectRefusal(await send(), 429, 'rate_limit_error');
    await idle();
    expect(remaining('requests_per_minute', 3)).toBe(1);
  });

  it('does not limit the catalog', async () => {
    const { gateway } = await startLimited({ requests_per_minute: 1 });
    for (let at = 0; at < 5; at++) {
      const reply = await fetch(`${gateway.url}/v1/models`, {
        headers: { authorization: `Bearer ${clientKey}` },
      });
      expect(reply.status).toBe(200);
      expect(reply.headers.get('x-ratelimit-limit-requests')).toBeNull();
      await reply.text();
    }
  });
});
