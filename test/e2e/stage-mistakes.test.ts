import { afterEach, describe, expect, it } from '@jest/globals';
import type { Request, Response } from 'express';
import { z } from 'zod';
import { type ChainOptions, errorEnvelope, validation } from '../../src/index.ts';
import { type Chunk, defineStage, type Hooks, refusal, usageOf } from '../../src/plugin.ts';
import { capturedLog, type LogLine } from '../support/captured-log.ts';
import { chainOf, post, settlements } from '../support/chain-app.ts';
import { connected, requestOf } from '../support/chain-connection.ts';
import { closeApps, startApp } from '../support/express-app.ts';
import { stream, whole } from '../support/foreign-replies.ts';
import { ask } from '../support/gateway-under-test.ts';
import { until } from '../support/until.ts';

afterEach(closeApps);

const inStream = (response: Response) => response.writeHead(200, { 'content-type': 'text/event-stream' });
const answers = ({ body }: Request, response: Response) =>
  body.stream ? inStream(response).end(stream.join('')) : response.type('application/json').send(whole);

const faultsIn = (lines: readonly LogLine[]) => lines.filter(({ level }) => level > 30);

/** A stage with these hooks before a handler, whose calls are counted, and how the exchanges ended. */
async function behind(
  hooks: Hooks,
  handler: (request: Request, response: Response) => unknown = answers,
  options: ChainOptions = {},
) {
  const { outcomes, stage } = settlements();
  const own = defineStage({ name: 'own', schema: z.strictObject({}), create: () => hooks })();
  let calls = 0;
  const app = await startApp(app => {
    app.use((request, _response, next) => {
      // A parser that does not wait for the body.
      request.body = ask('Hello?', { stream: request.headers['x-stream'] === 'yes' });
      next();
    });
    app.use(
      chainOf([errorEnvelope(), stage, own, validation()], { stream_commit_ms: 20, ...options }),
      (request, response) => {
        calls++;
        handler(request, response);
      },
    );
  });
  const chat = (isStream: boolean) =>
    post(`${app.url}/v1/chat/completions`, {}, isStream ? { 'x-stream': 'yes' } : {});
  return { app, outcomes, chat, calls: () => calls };
}

describe('a stage that leaves nothing of a stream', () => {
  it.each([
    ['drops every chunk', () => {}],
    ['ends it at its first chunk', (_: Chunk, { terminate }: { terminate(): void }) => terminate()],
  ])('and %s fails the request', async (_, transform) => {
    const { chat, outcomes } = await behind({
      onStream: () => ({ transform: (chunk, c) => transform(chunk, { terminate: () => c.terminate() }) }),
    });
    const reply = await chat(true);
    expect(reply.status).toBe(502);
    expect(await reply.json()).toMatchObject({ error: { type: 'server_error' } });
    await until(() => outcomes.length === 1);
    expect(outcomes).toMatchObject([{ status: 502, end_reason: 'internal_error' }]);
  });
});

describe('a stage whose hook returns what cannot be meant', () => {
  const chunk: Chunk = { choices: [{ index: 0, delta: { content: 'Hi' }, finish_reason: null }] };
  const reply = {
    choices: [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }],
  };
  const later = async <T>(value: T) => value;

  it.each<[string, string, boolean, object]>([
    ['a reply from onHeaders', 'answer from onRequest', true, { onHeaders: () => reply }],
    ['a boolean from onRequest', 'refuse by throwing', true, { onRequest: () => false }],
    ['a string from onReply', 'the reply to pass on', false, { onReply: () => later('Hi') }],
    [
      'a promise from onStream',
      'return a transformer',
      true,
      { onStream: () => Promise.reject(new Error('lost')) },
    ],
    ['a generator from onStream', 'fromGenerator', true, { onStream: async function* () {} }],
  ])('fails the request and says in the log what was wrong: %s', async (what, advice, isStream, hooks) => {
    const { log, lines } = capturedLog();
    const { chat, outcomes } = await behind(hooks as Hooks, answers, { log });
    const response = await chat(isStream);
    expect([response.status, await response.json()]).toMatchObject([
      502,
      { error: { type: 'server_error' } },
    ]);
    await until(() => outcomes.length === 1);
    expect(outcomes).toMatchObject([{ end_reason: 'internal_error' }]);
    const text = JSON.stringify(lines);
    expect(text).toContain(`the stage own returned ${what}: `);
    expect(text).toContain(advice);
    expect(text).not.toContain('TypeError');
  });

  it.each<[string, string, object]>([
    ['no choices', 'with no choices', { choices: [] }],
    ['usage with fractions', 'prompt_tokens 1.5', { ...reply, usage: usageOf(1.5, 4.3) }],
  ])('fails the request and says in the log what is wrong with a reply of %s', async (_, what, broken) => {
    const { log, lines } = capturedLog();
    const { chat } = await behind({ onReply: () => broken } as unknown as Hooks, answers, { log });
    expect((await chat(false)).status).toBe(502);
    const text = JSON.stringify(lines);
    expect(text).toContain('the stage own returned a reply with');
    expect(text).toContain(what);
    expect(text).toContain('a reply has at least one choice');
  });

  it('shows the total of the usage that a stage has changed', async () => {
    const used = { ...usageOf(7, 5), total_tokens: 1 };
    const { chat } = await behind({ onReply: (_, reply) => ({ ...reply, usage: used }) });
    expect(await (await chat(false)).json()).toMatchObject({ usage: { total_tokens: 12 } });
  });

  it.each<[string, string, unknown]>([
    ['a string', 'a string', 'x'],
    ['no finish_reason', 'the finish_reason undefined', { choices: [{ index: 0, delta: {} }] }],
    ['usage with fractions', 'the prompt_tokens 1.5', { ...chunk, usage: usageOf(1.5, 4.3) }],
  ])('fails a stream and says in the log what was enqueued: %s', async (_, what, broken) => {
    for (const isLate of [false, true]) {
      const { log, lines } = capturedLog();
      const hooks: Hooks = {
        onStream: () => ({
          transform(_, controller) {
            const enqueue = () => controller.enqueue(broken as Chunk);
            if (!isLate) return enqueue();
            // Nothing would catch what a timer throws.
            return new Promise(resolve => setTimeout(() => resolve(enqueue()), 1));
          },
        }),
      };
      const { chat, outcomes } = await behind(hooks, answers, { log });
      expect(await (await chat(true)).text()).toContain('"type":"server_error"');
      await until(() => outcomes.length === 1);
      expect(faultsIn(lines)).toMatchObject([{ level: 50, stage: 'own', hook: 'onStream' }]);
      expect(JSON.stringify(lines)).toContain('the stage own enqueued ');
      expect(JSON.stringify(lines)).toContain(what);
      expect(JSON.stringify(lines)).toContain('enqueue takes a chunk, { choices: […], usage? }');
    }
  });

  it('keeps the error when onError returns a promise', async () => {
    const { log, lines } = capturedLog();
    const hooks = {
      onRequest() {
        throw refusal('rate_limited', { message: 'Not now.' });
      },
      onError: () => Promise.reject(new Error('lost')),
    };
    const { chat } = await behind(hooks as unknown as Hooks, answers, { log });
    const response = await chat(false);
    expect([response.status, await response.json()]).toMatchObject([429, { error: { message: 'Not now.' } }]);
    expect(JSON.stringify(lines)).toContain('the stage own returned a promise from onError: ');
  });
});

describe('a stage that sets a header that cannot be sent', () => {
  const setting: Hooks = {
    onRequest(exchange) {
      exchange.replyHeaders['x-own'] = 'two\nlines';
    },
    onStream: () => ({ transform: (chunk, controller) => controller.enqueue(chunk) }),
    onReply: (_, reply) => reply,
  };

  it.each([true, false])('fails the request, and is in the log as such (stream: %s)', async isStream => {
    for (const [name, value] of [
      ['x-own', 'two\nlines'],
      ['x bad', '1'],
    ] as const) {
      const { log, lines } = capturedLog();
      const hooks: Hooks = { ...setting, onRequest: ({ replyHeaders }) => void (replyHeaders[name] = value) };
      const { chat, outcomes } = await behind(hooks, answers, { log });
      const reply = await chat(isStream);
      expect([reply.status, reply.headers.get('x-own')]).toEqual([502, null]);
      expect(await reply.json()).toMatchObject({ error: { type: 'server_error' } });
      await until(() => outcomes.length === 1);
      expect(outcomes).toMatchObject([{ status: 502, end_reason: 'internal_error' }]);
      expect(faultsIn(lines)).toHaveLength(1);
      expect(JSON.stringify(lines)).toContain('a stage has set a reply header that cannot be sent, ');
    }
  });

  it('still refuses where the refusal has such a header', async () => {
    const { chat, outcomes } = await behind({
      onRequest() {
        throw refusal('rate_limited', { message: 'Not now.', headers: { 'x bad': '1', 'retry-after': '3' } });
      },
    });
    const reply = await chat(false);
    expect([reply.status, reply.headers.get('retry-after')]).toEqual([429, '3']);
    await until(() => outcomes.length === 1);
  });

  it('fails a stream that has to be committed before its first chunk', async () => {
    const { chat } = await behind(setting, () => {});
    const reply = await chat(true);
    expect(reply.status).toBe(502);
  });
});

describe('a stage that rejects where no promise is waited for', () => {
  const fails = async () => {
    throw new Error('the stage has failed');
  };

  it.each([true, false])(
    'in onSettled leaves the process and the reply alone (stream: %s)',
    async isStream => {
      const { chat, outcomes } = await behind({ onSettled: fails });
      const reply = await chat(isStream);
      expect(reply.status).toBe(200);
      await reply.text();
      await until(() => outcomes.length === 1);
    },
  );

  it('in cancel of a stream leaves the process alone', async () => {
    const { app, outcomes } = await behind(
      {
        onStream: () => ({
          transform: (chunk, controller) => controller.enqueue(chunk),
          cancel: fails,
        }),
      },
      (_, response) => void inStream(response).write(stream[0]),
    );
    const connection = connected(app);
    connection.write(requestOf({}).replace('content-type', 'x-stream: yes\r\ncontent-type'));
    await connection.received(/data: /);
    connection.destroy();
    await until(() => outcomes.length === 1);
    expect(outcomes).toMatchObject([{ end_reason: 'client_gone' }]);
  });
});

describe('a client that leaves', () => {
  it.each([
    ['without a stage that wants the reply', { onSettled() {} }],
    ['with a stage that wants the reply', { onReply: (_, reply) => reply } satisfies Hooks],
  ])('while its body is read away causes no call of the handler %s', async (_, hooks) => {
    const { app, outcomes, calls } = await behind(hooks);
    const connection = connected(app);
    let asked = false;
    app.server.once('request', () => (asked = true));
    connection.write(requestOf({}).slice(0, -1));
    await until(() => asked);
    connection.destroy();
    await until(() => outcomes.length === 1);
    expect(outcomes).toMatchObject([{ end_reason: 'client_gone', status: 0 }]);
    expect(calls()).toBe(0);
  });
});

describe('a stage that throws in a chain without error-envelope', () => {
  it('is in the log with its name, hook and cause, and the client learns nothing of it', async () => {
    const { log, lines } = capturedLog();
    const own = defineStage({
      name: 'own',
      schema: z.strictObject({}),
      create: () => ({
        onHeaders() {
          throw new Error('the inner cause');
        },
      }),
    })();
    const app = await startApp(app => {
      app.use(chainOf([own], { log }), (_request, response) => void response.send('the handler'));
    });
    const reply = await post(`${app.url}/v1/chat/completions`, {});
    expect([reply.status, await reply.text()]).toEqual([502, expect.not.stringContaining('inner cause')]);
    await until(() => lines.length > 0);
    expect(lines[0]).toMatchObject({
      level: 50,
      stage: 'own',
      hook: 'onHeaders',
      err: { message: 'the inner cause' },
    });
  });
});
