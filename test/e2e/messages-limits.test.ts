import { afterEach, expect, it } from '@jest/globals';
import { closeLimited, startLimited } from '../support/limited-gateway.ts';

afterEach(closeLimited);

const messages = { enabled: true };
const body = { model: 'aion-labs/aion-3.5', messages: [{ role: 'user', content: 'Hello? '.repeat(500) }] };

it('takes requests but no tokens from the limits for a count of tokens', async () => {
  const limited = await startLimited(
    { requests_per_minute: 2, tokens_per_minute: 50 },
    { config: { messages } },
  );
  const count = () => limited.gateway.post(body, { path: '/v1/messages/count_tokens' });
  for (let at = 0; at < 2; at++) {
    const reply = await count();
    expect(reply.status).toBe(200);
    expect(((await reply.json()) as { input_tokens: number }).input_tokens).toBeGreaterThan(500);
  }
  await limited.idle();
  expect(limited.remaining('tokens_per_minute', 50)).toBe(50);
  const refused = await count();
  expect(refused.status).toBe(429);
  expect(refused.headers.get('retry-after')).toMatch(/^\d+$/);
  expect(await refused.json()).toMatchObject({
    type: 'error',
    error: { type: 'rate_limit_error', message: expect.stringContaining('2 requests per minute') },
  });
});

it('neither takes a count of tokens from the cache nor puts one there', async () => {
  const stages = ['auth', 'validation', { 'response-cache': { shared: true } }];
  const limited = await startLimited({}, { stages, config: { messages } });
  const reply = await limited.gateway.post(body, { path: '/v1/messages/count_tokens' });
  expect(reply.headers.has('x-cache')).toBe(false);
  expect(await limited.gateway.metric('sluice_response_cache_requests_total')).toBe(0);
});
