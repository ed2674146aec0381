import { afterEach, describe, expect, it } from '@jest/globals';
import { ask } from '../support/gateway-under-test.ts';
import { completion, finished, said } from '../support/hostile-setting.ts';
import { closeLimited, type LimitedGateway, startLimited } from '../support/limited-gateway.ts';
import { events, streamed, whole } from '../support/scripted-upstream.ts';

afterEach(closeLimited);

const limits = { requests_per_minute: 15, tokens_per_minute: 20_000, tokens_per_day: 50_000 };
const good = whole(200, completion('Yes.'));
const goodStream = streamed(events(said('Yes.'), finished(), '[DONE]'));

const told = ({ headers }: Response) =>
  Object.fromEntries([...headers].filter(([name]) => name.startsWith('x-ratelimit-')));

/** What is told when nothing has been used but what this exchange has taken. */
const standing = (requests: number, reset: string) => ({
  'x-ratelimit-limit-requests': '15',
  'x-ratelimit-remaining-requests': String(requests),
  'x-ratelimit-reset-requests': reset,
  'x-ratelimit-limit-tokens': '20000',
  'x-ratelimit-remaining-tokens': expect.any(String),
  'x-ratelimit-reset-tokens': reset,
});

async function read(reply: Response): Promise<Response> {
  await reply.text();
  return reply;
}

describe('the rate limit headers of every authenticated answer', () => {
  it.each<[string, number, Buffer, object?]>([
    ['a reply', 200, good],
    ['a stream', 200, goodStream, { stream: true }],
    ['a refusal of the upstream', 400, whole(400, { error: { message: 'no' } })],
    ['a failure of the upstream, streamed', 502, whole(500, 'no'), { stream: true }],
    ['an upstream that is misconfigured', 400, whole(401, 'no')],
  ])('show the remaining limits on %s, which counts', async (_, status, script, more = {}) => {
    const { upstream, send } = await startLimited(limits);
    upstream.reply(script);
    const reply = await read(await send(more));
    expect(reply.status).toBe(status);
    expect(told(reply)).toEqual(standing(14, '1m0s'));
    const remaining = Number(reply.headers.get('x-ratelimit-remaining-tokens'));
    expect(remaining).toBeGreaterThan(19_000);
    expect(remaining).toBeLessThan(19_600);
  });

  it.each<[string, number, (limited: LimitedGateway) => Promise<Response>]>([
    ['an unknown model', 400, ({ send }) => send({ model: 'a/unknown' })],
    ['a field that is wrong', 400, ({ send }) => send({ max_tokens: 'five' })],
    ['a body that is no JSON', 400, ({ gateway }) => gateway.post('{')],
  ])('show the remaining limits on %s, which counts as a request and no tokens', async (_, status, ask) => {
    const limited = await startLimited(limits);
    const reply = await read(await ask(limited));
    expect(reply.status).toBe(status);
    expect(told(reply)).toEqual({
      ...standing(14, '1m0s'),
      'x-ratelimit-remaining-tokens': '20000',
      'x-ratelimit-reset-tokens': '0s',
    });
    expect(limited.remaining('requests_per_minute', 15)).toBe(14);
  });

  it('show the remaining limits on the 524 of a request that took too long', async () => {
    const { upstream, send } = await startLimited(limits, {
      server: { non_stream_timeout_ms: 100, max_background: 0 },
    });
    upstream.reply(() => {});
    const reply = await read(await send());
    expect(reply.status).toBe(524);
    expect(told(reply)).toEqual(standing(14, '1m0s'));
  });

  it('show the time until the reset on a refusal, as time passes', async () => {
    const { upstream, send, clock, idle } = await startLimited({ ...limits, requests_per_minute: 2 });
    upstream.reply(good);
    for (const remaining of ['1', '0']) {
      const reply = await read(await send());
      expect(reply.headers.get('x-ratelimit-remaining-requests')).toBe(remaining);
      await idle();
      clock.advance(23_500);
    }
    const refused = await read(await send());
    expect(refused.status).toBe(429);
    expect(told(refused)).toMatchObject({
      'x-ratelimit-limit-requests': '2',
      'x-ratelimit-remaining-requests': '0',
      'x-ratelimit-reset-requests': '37s',
      'x-ratelimit-remaining-tokens': '19980',
    });
    expect(refused.headers.get('retry-after')).toBe('13');
    expect(refused.headers.get('retry-after-ms')).toBe('13000');
    expect(refused.headers.get('x-should-retry')).toBeNull();
  });
});

describe('an answer without rate limit headers', () => {
  it('is sent to a client without a known key', async () => {
    const { gateway } = await startLimited(limits);
    const reply = await read(
      await gateway.post(ask('Hello?'), { headers: { authorization: 'Bearer sk-unknown' } }),
    );
    expect([reply.status, told(reply)]).toEqual([401, {}]);
  });
});
