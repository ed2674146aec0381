import Anthropic from '@anthropic-ai/sdk';
import { afterEach, describe, expect, it } from '@jest/globals';
import { Registry } from 'prom-client';
import { type Simulator, startSimulator } from '../../src/simulator/server.ts';
import {
  allStages,
  chainOf,
  type Echo,
  post,
  proxyTo,
  settlements,
  startEcho,
} from '../support/chain-app.ts';
import { alongside, closeApps, startApp } from '../support/express-app.ts';
import { clientKey, eventsOf } from '../support/gateway-under-test.ts';

const model = 'aion-labs/aion-3.5';
const asked = {
  model,
  max_tokens: 2000,
  messages: [{ role: 'user' as const, content: 'Hello [[sim:say=Hello there.]]' }],
};
const messages = { from_chat: true };
const path = '/v1/messages';

afterEach(closeApps);

const simulated = async (): Promise<Simulator> => alongside(await startSimulator());

describe('/v1/messages behind a chain without the messages option, with other paths open', () => {
  it('reaches the handler unchanged, as any path that the chain does not know', async () => {
    const upstream = alongside(await startEcho());
    const { outcomes, stage } = settlements();
    const app = await startApp(app =>
      app.use(chainOf([stage, ...allStages()], { otherPaths: 'pass' }), proxyTo(upstream)),
    );
    const body = '{ "model": "nobody/knows", "prompt":  1 }';
    const reply = await post(app.url + path, body);
    expect((await reply.json()) as Echo).toMatchObject({ method: 'POST', path, text: body });
    expect(outcomes).toMatchObject([{ endpoint: 'unknown', status: 200 }]);
  });
});

describe('/v1/messages behind a chain with the messages option', () => {
  it('serves the Anthropic SDK through a handler that supports only chat completions', async () => {
    const upstream = await simulated();
    const { outcomes, stage } = settlements();
    const app = await startApp(app =>
      app.use('/llm', chainOf([stage, ...allStages()], { messages }), proxyTo(upstream)),
    );
    const anthropic = new Anthropic({
      apiKey: clientKey,
      authToken: null,
      baseURL: `${app.url}/llm`,
      maxRetries: 0,
    });
    const whole = await anthropic.messages.create(asked);
    expect(whole.content).toMatchObject([{ type: 'thinking' }, { type: 'text', text: 'Hello there.' }]);
    const final = await anthropic.messages.stream(asked).finalMessage();
    expect([final.content, final.usage]).toEqual([whole.content, whole.usage]);
    expect(upstream.requests.at(-1)?.body).toMatchObject({ messages: asked.messages, max_tokens: 2000 });
    const { max_tokens, ...counted } = asked;
    expect((await anthropic.messages.countTokens(counted)).input_tokens).toBeGreaterThan(5);
    expect(upstream.requests).toHaveLength(2);
    expect(outcomes).toMatchObject([
      { endpoint: 'messages', end_reason: 'completed', model },
      { endpoint: 'messages', end_reason: 'completed', model },
      { endpoint: 'messages.count-tokens', end_reason: 'completed', usage: { completion_tokens: 0 } },
    ]);
    expect(outcomes[0]?.usage.completion_tokens).toBe(whole.usage.output_tokens);
  });

  it('reports rejections and broken streams in the Messages format', async () => {
    const upstream = await simulated();
    const registry = new Registry();
    const app = await startApp(app =>
      app.use(chainOf(allStages(), { messages, registry }), proxyTo(upstream)),
    );
    const refusal = await post(app.url + path, { ...asked, max_tokens: 40_000 });
    expect(refusal.status).toBe(400);
    expect(await refusal.json()).toMatchObject({
      type: 'error',
      error: {
        type: 'invalid_request_error',
        message: expect.stringMatching(/^max_tokens: must be at most 32768/),
      },
    });
    const content = 'Hello [[sim:reset=6]]';
    const broken = await post(app.url + path, {
      ...asked,
      messages: [{ role: 'user', content }],
      stream: true,
    });
    const names = eventsOf(await broken.text()).map(({ event }) => event);
    expect([names[0], names.at(-1)]).toEqual(['message_start', 'error']);
    expect(await registry.metrics()).toMatch(/sluice_requests_total\{endpoint="messages"[^}]*status="400"/);
  });
});
