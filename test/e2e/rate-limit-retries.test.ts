import { afterEach, describe, expect, it } from '@jest/globals';
import OpenAI, { RateLimitError } from 'openai';
import { completion } from '../support/hostile-setting.ts';
import { closeLimited, type LimitedGateway, startLimited } from '../support/limited-gateway.ts';
import { whole } from '../support/scripted-upstream.ts';
import { until } from '../support/until.ts';

afterEach(closeLimited);

/** The official client as it comes: two retries. */
const clientOf = ({ gateway }: LimitedGateway) =>
  new OpenAI({ apiKey: gateway.key, baseURL: `${gateway.url}/v1` });

const complete = (client: OpenAI) =>
  client.chat.completions.create({
    model: 'aion-labs/aion-3.5',
    messages: [{ role: 'user', content: 'Hello?' }],
  });

const refusals = ({ gateway }: LimitedGateway) => gateway.metric('sluice_requests_total', { status: '429' });

describe("the OpenAI SDK's own retries", () => {
  it('wait for the time in Retry-After and succeed', async () => {
    const limited = await startLimited({ requests_per_minute: 1 });
    limited.upstream.reply(whole(200, completion('Yes.')));
    const client = clientOf(limited);
    await complete(client);
    // The window slides on while the client waits.
    limited.clock.advance(58_800);
    const asked_ms = performance.now();
    const retried = complete(client);
    await until(async () => (await refusals(limited)) === 1);
    limited.clock.advance(1200);
    expect((await retried).choices[0]?.message.content).toBe('Yes.');
    expect(performance.now() - asked_ms).toBeGreaterThan(1150);
    expect(await refusals(limited)).toBe(1);
  });

  it('are not made when the limit resets only at the end of the day', async () => {
    const limited = await startLimited({ tokens_per_day: 600 });
    limited.upstream.reply(
      whole(200, completion('Yes.', {}, { usage: { prompt_tokens: 300, completion_tokens: 300 } })),
    );
    const client = clientOf(limited);
    await complete(client);
    await limited.idle();
    const thrown = await complete(client).catch((error: unknown) => error);
    expect(thrown).toBeInstanceOf(RateLimitError);
    expect((thrown as RateLimitError).message).toBe('429 Daily token limit exceeded. Resets at 00:00 UTC.');
    expect(await refusals(limited)).toBe(1);
  });
});
