import { resolve } from 'node:path';
import { afterEach, describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { loadConfig } from '../../src/config/load.ts';
import { type Chunk, defineDialect } from '../../src/plugin.ts';
import { type Simulator, startSimulator } from '../../src/simulator/server.ts';
import { answerWith } from '../fixtures/stages/answering.ts';
import { clientKey } from '../support/gateway-under-test.ts';
import { closeMounted, mounted } from '../support/mounted-gateway.ts';
import { sidecarConfig } from '../support/sidecar-process.ts';
import { until } from '../support/until.ts';

let simulator: Simulator;
let url: string;

afterEach(async () => {
  await closeMounted();
  await simulator?.close();
});

/** Counts the characters and tokens of a prompt; its clients have headers of their own. */
const counting = defineDialect({
  name: 'counting',
  paths: { '/v1/length': ['POST'] },
  headers: { key: 'x-my-key', request_id: 'x-my-id' },
  errorBody: ({ message }) => JSON.stringify({ wrong: message }),
  options: { section: 'counting', schema: z.strictObject({ enabled: z.boolean().default(false) }) },
  create: () => ({
    parse: ({ model, prompt }) => ({
      model: String(model),
      messages: [{ role: 'user', content: String(prompt) }],
      stream: true,
      parameters: {},
      unknown: {},
    }),
    answerRequest: ({ request }, promptTokens) =>
      JSON.stringify({ characters: String(request.messages[0]?.content).length, tokens: promptTokens() }),
  }),
});

async function start(enabled: boolean, more: object = {}): Promise<void> {
  simulator = await startSimulator();
  const sections = { counting: { enabled }, ...more } as object;
  ({ url } = await mounted(simulator, undefined, sections, { dialects: [counting], terminal: true }));
}

const ask = (body: object, headers: Record<string, string> = { 'x-my-key': clientKey }) =>
  fetch(`${url}/v1/length`, {
    method: 'POST',
    body: JSON.stringify(body),
    headers: { 'content-type': 'application/json', ...headers },
  });
const body = { model: 'aion-labs/aion-3.5', prompt: 'Why do rivers bend?' };

describe('a dialect that answers requests by itself', () => {
  it('answers what the stages let through, and asks no upstream', async () => {
    await start(true);
    const reply = await ask(body);
    expect(reply.status).toBe(200);
    expect(await reply.json()).toEqual({ characters: 19, tokens: expect.any(Number) });
    expect(reply.headers.get('x-my-id')).toBe(reply.headers.get('x-request-id'));
    expect(simulator.requests).toHaveLength(0);
    expect((await ask({ ...body, model: 'nobody/knows' })).status).toBe(400);
  });

  it('does so where a stage has answered as well, and closes the stream of that answer', async () => {
    let isClosed = false;
    const close = () => void (isClosed = true);
    answerWith('a count', () => new ReadableStream<Chunk>({ cancel: close }, { highWaterMark: 0 }));
    const answering = resolve(import.meta.dirname, '../fixtures/stages/answering.ts');
    await start(true, { stages: ['auth', { [answering]: { script: 'a count' } }] });
    expect(await (await ask(body)).json()).toMatchObject({ characters: 19 });
    await until(() => isClosed);
  });

  it('finds the key in its own header, and only there or in Authorization', async () => {
    await start(true);
    const missing = await ask(body, { 'x-api-key': clientKey });
    expect(missing.status).toBe(401);
    expect(await missing.json()).toEqual({
      wrong: expect.stringMatching(/^Missing API key\. Send 'x-my-key: /),
    });
    expect((await ask(body, { authorization: `Bearer ${clientKey}` })).status).toBe(200);
  });

  it('is not offered where its option enabled is false', async () => {
    await start(false);
    expect((await ask(body)).status).toBe(404);
  });
});

describe('the path of a dialect that is not offered', () => {
  const passthrough = [{ path: '/v1/messages', provider: 'upstream' }];

  it('can be passed through, until it is', async () => {
    const config = sidecarConfig('http://127.0.0.1:9/v1', { passthrough } as object);
    await expect(loadConfig(config)).resolves.toMatchObject({ passthrough: [{ path: '/v1/messages' }] });
    const messages = { enabled: true };
    await expect(loadConfig({ ...config, messages })).rejects.toThrow("/v1/messages is the gateway's own");
  });
});
