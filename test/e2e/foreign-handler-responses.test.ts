import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import express from 'express';
import OpenAI from 'openai';
import { Registry } from 'prom-client';
import { auth, errorEnvelope, validation } from '../../src/index.ts';
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
const asked = { model, input: 'Hello [[sim:say=Hello there.]]' };
const responses = { from_chat: true };

afterEach(closeApps);

describe('/v1/responses behind a chain without the responses option, with other paths open', () => {
  it('reaches the handler unchanged and requires a key', async () => {
    const upstream = alongside(await startEcho());
    const { outcomes, stage } = settlements();
    const app = await startApp(app =>
      app.use(chainOf([stage, ...allStages()], { otherPaths: 'pass' }), proxyTo(upstream)),
    );
    const body = '{ "model": "nobody/knows", "input": "Hello?",  "previous_response_id": "resp_1" }';
    const refused = await post(`${app.url}/v1/responses`, body, { authorization: '' });
    expect(refused.status).toBe(401);
    const reply = await post(`${app.url}/v1/responses`, body);
    expect(reply.status).toBe(200);
    expect((await reply.json()) as Echo).toMatchObject({ method: 'POST', path: '/v1/responses', text: body });
    expect(outcomes.map(({ endpoint, status }) => [endpoint, status])).toEqual([
      ['responses', 401],
      ['responses', 200],
    ]);
  });
});

describe('/v1/responses behind a chain with the responses option', () => {
  let upstream: Simulator;

  beforeEach(async () => {
    upstream = alongside(await startSimulator());
  });

  it('serves the OpenAI SDK through a handler that supports only chat completions', async () => {
    const { outcomes, stage } = settlements();
    const app = await startApp(app =>
      app.use('/llm', chainOf([stage, ...allStages()], { responses }), proxyTo(upstream)),
    );
    const openai = new OpenAI({ apiKey: clientKey, baseURL: `${app.url}/llm/v1`, maxRetries: 0 });
    const whole = await openai.responses.create(asked);
    expect(whole).toMatchObject({ object: 'response', status: 'completed', output_text: 'Hello there.' });
    expect(whole.output).toMatchObject([{ content: [{ type: 'reasoning' }, { type: 'output_text' }] }]);
    const final = await openai.responses.stream(asked).finalResponse();
    expect(final.output_text).toBe('Hello there.');
    expect(final.usage).toEqual(whole.usage);
    expect(outcomes).toMatchObject([
      { endpoint: 'responses', end_reason: 'completed', model },
      { endpoint: 'responses', end_reason: 'completed', model },
    ]);
    expect(outcomes[0]?.usage.completion_tokens).toBe(whole.usage?.output_tokens);
  });

  it('calls the handler with chat completions even when no stage transforms the reply', async () => {
    const seen: { url: string; body: Record<string, unknown> }[] = [];
    const app = await startApp(app => {
      app.use(express.json());
      app.use(chainOf([auth(), validation()], { responses }), (request, response) => {
        seen.push({ url: request.originalUrl, body: request.body });
        const message = { role: 'assistant', content: `at ${request.url}` };
        response.json({ choices: [{ index: 0, message, finish_reason: 'stop' }] });
      });
    });
    const reply = await post(`${app.url}/v1/responses?version=/responses`, asked);
    expect(await reply.json()).toMatchObject({
      object: 'response',
      output: [{ content: [{ text: 'at /v1/chat/completions?version=/responses' }] }],
    });
    expect(seen).toEqual([
      {
        url: '/v1/chat/completions?version=/responses',
        body: { model, messages: [{ role: 'user', content: asked.input }] },
      },
    ]);
  });

  it('reports rejections and broken streams in the responses format', async () => {
    const registry = new Registry();
    const app = await startApp(app =>
      app.use(
        chainOf([errorEnvelope(), ...allStages().slice(1)], { responses, registry }),
        proxyTo(upstream),
      ),
    );
    const refusal = await post(`${app.url}/v1/responses`, { ...asked, max_output_tokens: 40_000 });
    expect(refusal.status).toBe(400);
    expect(await refusal.json()).toMatchObject({
      error: { message: expect.stringMatching(/^max_output_tokens: must be at most 32768/) },
    });
    const broken = await post(`${app.url}/v1/responses`, {
      model,
      input: 'Hello [[sim:reset=6]]',
      stream: true,
    });
    const names = eventsOf(await broken.text()).map(({ event, data }) => event ?? data);
    expect(names[0]).toBe('response.created');
    expect(names.slice(-3)).toEqual(['error', 'response.failed', '[DONE]']);
    expect(await registry.metrics()).toMatch(/sluice_requests_total\{endpoint="responses"[^}]*status="400"/);
  });

  it('is translated only once when several chains enable it', async () => {
    const app = await startApp(app => {
      app.use(auth({ accounts: { tester: { keys: [{ value: clientKey }] } } }));
      app.use(chainOf(allStages(), { responses }));
      app.use(chainOf([validation()], { responses }), proxyTo(upstream));
    });
    for (const stream of [false, true]) {
      const reply = await post(`${app.url}/v1/responses`, { ...asked, stream });
      const text = await reply.text();
      expect(reply.status).toBe(200);
      expect(text).toContain('"object":"response"');
      expect(text).toContain('Hello there.');
      expect(text).not.toContain('chat.completion');
    }
    const refused = await post(`${app.url}/v1/responses`, { ...asked, model: 'nobody/knows' });
    expect(refused.status).toBe(400);
  });
});
