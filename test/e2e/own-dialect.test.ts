import { join } from 'node:path';
import { afterEach, describe, expect, it } from '@jest/globals';
import { type ChatRequest, defineDialect } from '../../src/plugin.ts';
import { type Simulator, startSimulator } from '../../src/simulator/server.ts';
import { post } from '../support/chain-app.ts';
import { startApp } from '../support/express-app.ts';
import { ask, clientKey, type GatewayUnderTest, startGateway } from '../support/gateway-under-test.ts';
import { closeMounted, mountable } from '../support/mounted-gateway.ts';
import { until } from '../support/until.ts';

const dialect = join(import.meta.dirname, '../../examples/own-dialect/ollama-chat.ts');
let simulator: Simulator;
let gateway: GatewayUnderTest;

async function start(server: Readonly<Record<string, number>> = {}, section: object = {}): Promise<void> {
  simulator = await startSimulator({ reasoning: 'field' } as never);
  const config = { dialects: [dialect], ollama_chat: section };
  gateway = await startGateway({ upstream: simulator, server, config });
}

afterEach(async () => {
  await gateway?.close();
  await simulator?.close();
});

const path = '/api/chat';
const chat = (content: string, more: object = {}) => gateway.post(ask(content, more), { path });
const settledAs = (labels: Record<string, string>) =>
  gateway.metric('sluice_requests_total', { endpoint: 'ollama.chat', ...labels });

interface Line {
  readonly message?: { readonly content: string; readonly thinking?: string };
  readonly done?: boolean;
  readonly [key: string]: unknown;
}
const linesOf = (text: string): Line[] => {
  expect(text.endsWith('\n')).toBe(true);
  return text
    .slice(0, -1)
    .split('\n')
    .map(line => JSON.parse(line));
};
const textOf = (lines: readonly Line[], field: 'content' | 'thinking') =>
  lines.map(({ message }) => message?.[field] ?? '').join('');

describe("a dialect of one's own", () => {
  it('answers whole replies in its form', async () => {
    await start();
    const reply = await chat('[[sim:reasoning_tokens=2]] [[sim:say=Yes]]', { stream: false });
    expect(reply.headers.get('content-type')).toBe('application/json; charset=utf-8');
    expect(await reply.json()).toEqual({
      model: 'aion-labs/aion-3.5',
      created_at: expect.stringMatching(/^20\d\d-.*Z$/),
      message: { role: 'assistant', content: 'Yes', thinking: expect.any(String) },
      done: true,
      done_reason: 'stop',
      prompt_eval_count: expect.any(Number),
      eval_count: expect.any(Number),
    });
  });

  it('streams in its form and under its content type', async () => {
    await start();
    const reply = await chat('[[sim:reasoning_tokens=2]] [[sim:say=Yes, they do.]]');
    expect(reply.headers.get('content-type')).toBe('application/x-ndjson');
    const lines = linesOf(await reply.text());
    expect(textOf(lines, 'content')).toBe('Yes, they do.');
    expect(textOf(lines, 'thinking')).not.toBe('');
    expect(lines.map(({ done }) => done)).toEqual([...lines.slice(1).map(() => false), true]);
    expect(lines.at(-1)).toMatchObject({ done_reason: 'stop', eval_count: expect.any(Number) });
    expect(lines.at(-1)?.eval_count).toBeGreaterThan(0);
    await until(async () => (await settledAs({ end_reason: 'completed' })) === 1);
  });

  it('has its options in its own section', async () => {
    await start({}, { thinking: false });
    const lines = linesOf(await (await chat('[[sim:reasoning_tokens=2]] [[sim:say=Yes]]')).text());
    expect([textOf(lines, 'content'), textOf(lines, 'thinking')]).toEqual(['Yes', '']);
  });

  it("refuses requests in its form, by the client's names", async () => {
    await start();
    const refused = async (reply: Response, status: number) => {
      expect(reply.status).toBe(status);
      return ((await reply.json()) as { error: string }).error;
    };
    const withoutKey = await fetch(gateway.url + path, { method: 'POST', body: '{}' });
    expect(await refused(withoutKey, 401)).toMatch(/^Missing API key/);
    const wrong = await chat('Hello', { options: { num_predict: 0 } });
    expect(await refused(wrong, 400)).toBe('options.num_predict: must be at least 1, not 0');
    expect(await refused(await chat('[[sim:status=400 say=Too hot]]'), 400)).toEqual(expect.any(String));
    const method = await fetch(gateway.url + path, { headers: { authorization: `Bearer ${clientKey}` } });
    expect(method.headers.get('allow')).toBe('POST');
    expect(await refused(method, 405)).toContain('/api/chat does not accept GET');
    const unknown = await chat('Hello', { options: { num_ctx: 1 }, keep_alive: 1, stream: false });
    expect(await unknown.json()).toMatchObject({ message: { role: 'assistant' } });
    expect(unknown.headers.get('x-ignored-parameters')).toBe('keep_alive, options.num_ctx');
  });

  it('ends a stream with its own form of an error', async () => {
    await start();
    const reply = await chat('[[sim:tokens=30 cut=5]]');
    expect(reply.status).toBe(200);
    const lines = linesOf(await reply.text());
    expect(lines.at(-1)).toEqual({ error: expect.any(String) });
    expect(lines.some(({ done }) => done)).toBe(false);
  });

  it('keeps a silent stream alive in its own form', async () => {
    await start({ stream_commit_ms: 50, keepalive_ms: 50 });
    const reply = await chat('[[sim:ttft=400 say=Yes]]');
    const lines = linesOf(await reply.text());
    expect(lines.filter(({ message, done }) => !done && message?.content === '').length).toBeGreaterThan(1);
    expect(textOf(lines, 'content')).toBe('Yes');
  });

  it('answers 524 in its form when a whole reply takes too long', async () => {
    await start({ non_stream_timeout_ms: 200 });
    const reply = await chat('[[sim:ttft=2000 say=Yes]]', { stream: false });
    expect(reply.status).toBe(524);
    expect(await reply.json()).toEqual({ error: expect.stringMatching(/^No complete answer within 0\.2/) });
  });
});

describe('a dialect that throws', () => {
  it.each(['errorBody', 'parse', 'renderReply', 'chunk', 'error', 'end'])(
    'in %s leaves no client waiting, and shows nothing of its own',
    async at => {
      const fail = (hook: string) => {
        if (hook === at) throw new Error('internal detail 0815');
        return hook;
      };
      const dialect = defineDialect({
        name: 'broken',
        paths: { '/v1/broken': ['POST'] },
        errorBody: () => fail('errorBody'),
        create: () => ({
          parse(body) {
            fail('parse');
            const { model, messages, stream } = body as unknown as ChatRequest;
            return { model, messages, stream: stream ?? false, parameters: {}, unknown: {} };
          },
          renderReply: () => fail('renderReply'),
          renderStream: () => ({
            chunk: () => fail('chunk'),
            error: () => fail('error'),
            end: () => fail('end'),
          }),
        }),
      });
      simulator = await startSimulator();
      const mounted = await mountable(simulator, {}, { dialects: [dialect] });
      const app = await startApp(app => void app.use(mounted));
      const ended = (content: string, stream: boolean) =>
        post(`${app.url}/v1/broken`, ask(content, { stream }))
          .then(reply => reply.text())
          .catch(() => 'cut');
      for (const content of ['[[sim:say=Yes]]', '[[sim:tokens=30 cut=5]]', '[[sim:status=400]]'])
        for (const stream of [true, false]) expect(await ended(content, stream)).not.toContain('0815');
      await until(() => mounted.inFlight === 0);
      await closeMounted();
    },
  );

  it('can take all paths below one, and is told which was asked', async () => {
    const dialect = defineDialect({
      name: 'by.path',
      paths: { '/v1beta/models/*': ['POST'] },
      errorBody: ({ message }) => message,
      create: () => ({
        parse({ text }, { path }): ChatRequest {
          const model = decodeURIComponent(path.slice('/v1beta/models/'.length).replace(/:generate$/, ''));
          return {
            model,
            messages: [{ role: 'user', content: String(text) }],
            stream: false,
            parameters: {},
            unknown: {},
          };
        },
        renderReply: (_, { choices }) => JSON.stringify(choices[0]?.message.content),
        renderStream: () => ({ chunk: () => '', error: () => '', end: () => '' }),
      }),
    });
    simulator = await startSimulator();
    const mounted = await mountable(simulator, {}, { dialects: [dialect] });
    const app = await startApp(app => void app.use('/llm', mounted));
    const send = (path: string) => post(`${app.url}/llm/v1beta/models/${path}`, { text: '[[sim:say=Yes]]' });
    expect(await (await send('aion-labs%2Faion-3.5:generate')).json()).toBe('Yes');
    expect([(await send('none:generate')).status, (await send('')).status]).toEqual([400, 404]);
    await closeMounted();
  });

  it('is found where the application mounts the gateway at the beginning of its path', async () => {
    simulator = await startSimulator();
    const mounted = await mountable(simulator, {}, { dialects: [dialect] });
    const app = await startApp(app => void app.use('/api', mounted));
    const asked = ask('[[sim:say=Yes]]', { stream: false });
    const own = await post(`${app.url}/api/chat`, asked);
    expect(await own.json()).toMatchObject({ message: { content: 'Yes' } });
    const builtIn = await post(`${app.url}/api/v1/chat/completions`, asked);
    expect(await builtIn.json()).toMatchObject({ choices: [{ message: { content: 'Yes' } }] });
    expect((await post(`${app.url}/api/chats`, asked)).status).toBe(404);
    await closeMounted();
  });
});
