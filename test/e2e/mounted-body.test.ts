import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import express, { type RequestHandler } from 'express';
import { type Simulator, startSimulator } from '../../src/simulator/server.ts';
import { post } from '../support/chain-app.ts';
import { ask, clientKey, eventsOf } from '../support/gateway-under-test.ts';
import { expectRefusal } from '../support/hostile-setting.ts';
import { closeMounted, mounted } from '../support/mounted-gateway.ts';

let simulator: Simulator;

beforeEach(async () => {
  simulator = await startSimulator();
});

afterEach(async () => {
  await closeMounted();
  await simulator.close();
});

const parsers: [string, () => RequestHandler][] = [
  ['express.json()', () => express.json()],
  ['express.json() that takes everything', () => express.json({ type: '*/*', strict: false })],
  ['express.text()', () => express.text({ type: '*/*' })],
  ['express.raw()', () => express.raw({ type: '*/*' })],
  ['express.urlencoded(), which leaves JSON alone', () => express.urlencoded({ extended: true })],
];

const behind = (parser: () => RequestHandler) => mounted(simulator, app => app.use(parser()));

describe.each(parsers)('a gateway mounted behind %s', (_, parser) => {
  it('answers requests, streamed, compressed or whole', async () => {
    const { chat } = await behind(parser);
    const question = 'What is é€😀? [[sim:say=Signs.]]';
    expect(await (await post(chat, ask(question))).json()).toMatchObject({
      choices: [{ message: { content: 'Signs.' } }],
    });
    const events = eventsOf(await (await post(chat, ask(question, { stream: true }))).text());
    expect(events.map(({ json }) => json.choices?.[0]?.delta.content ?? '').join('')).toBe('Signs.');
    const packed = await fetch(chat, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${clientKey}`,
        'content-type': 'application/json',
        'content-encoding': 'gzip',
      },
      body: gzipSync(JSON.stringify(ask(question))),
    });
    expect(await packed.json()).toMatchObject({ object: 'chat.completion' });
    const messages = [{ role: 'user', content: question }];
    expect(simulator.requests.map(({ text }) => JSON.parse(text).messages)).toEqual(Array(3).fill(messages));
  });

  it('refuses what is no request, and names the field at fault', async () => {
    const { chat } = await behind(parser);
    const wrong = JSON.stringify(ask('Hello?', { messages: [{ role: 'robot', content: 'Hello?' }] }));
    for (const [body, message] of [
      [wrong, /^messages\[0\]\.role: must be one of/],
      ['', /./],
      ['{}', /./],
      ['[]', /./],
    ] as const)
      expect(await expectRefusal(await post(chat, body), 400, 'invalid_request_error')).toMatch(message);
    const reply = await post(chat, ask('Hello?'), { 'content-type': 'text/plain' });
    expect(await expectRefusal(reply, 400, 'invalid_request_error')).toMatch(/^Content-Type: /);
  });
});

describe('a gateway mounted behind express.json()', () => {
  it('accepts a body of megabytes when the parent’s limit allows it', async () => {
    const { chat } = await behind(() => express.json({ limit: '20mb' }));
    const content = `${'word '.repeat(200_000)} [[sim:say=Long.]]`;
    const reply = await post(chat, ask(content));
    expect(await reply.json()).toMatchObject({ choices: [{ message: { content: 'Long.' } }] });
  });

  it('leaves to the parent what the parent’s own parser refuses', async () => {
    const { chat, errors } = await behind(() => express.json());
    const tooLarge = await post(chat, ask('x'.repeat(200_000)));
    expect([tooLarge.status, await tooLarge.text()]).toEqual([500, 'parent error']);
    const malformed = await post(chat, '{"model": ');
    expect(malformed.status).toBe(500);
    expect(errors).toMatchObject([{ status: 413 }, { status: 400 }]);
    expect(simulator.requests).toEqual([]);
  });

  it('handles a hostile body as safely as an unparsed one', async () => {
    const { chat } = await behind(() => express.json());
    const polluting = `{"__proto__": {"stream": true}, "model": "aion-labs/aion-3.5", "messages": [{"role": "user", "content": "Hi"}]}`;
    expect(await (await post(chat, polluting)).json()).toMatchObject({ object: 'chat.completion' });
    expect(({} as { stream?: boolean }).stream).toBeUndefined();
    const deep = `{"model": "aion-labs/aion-3.5", "messages": ${'['.repeat(5000)}${']'.repeat(5000)}}`;
    await expectRefusal(await post(chat, deep), 400, 'invalid_request_error');
  });
});

describe('a gateway mounted behind express.urlencoded()', () => {
  it('does not take a form for JSON', async () => {
    const { chat } = await behind(() => express.urlencoded({ extended: true }));
    const form = 'model=aion-labs/aion-3.5&messages[0][role]=user&messages[0][content]=Hello';
    const reply = await post(chat, form, { 'content-type': 'application/x-www-form-urlencoded' });
    await expectRefusal(reply, 400, 'invalid_request_error');
    expect(simulator.requests).toEqual([]);
  });
});

describe('a gateway mounted behind a middleware that consumes the body', () => {
  it('reports at once that the fault is on the server', async () => {
    const { chat } = await mounted(simulator, app =>
      app.use(async (request, _response, next) => {
        for await (const _ of request);
        next();
      }),
    );
    const asked_ms = performance.now();
    await expectRefusal(await post(chat, ask('Hello?')), 502, 'server_error');
    expect(performance.now() - asked_ms).toBeLessThan(5000);
  });
});

describe('a gateway mounted behind a parser that accepts larger bodies', () => {
  const generous: [string, () => RequestHandler][] = [
    ['express.json()', () => express.json({ limit: '20mb' })],
    ['express.text()', () => express.text({ limit: '20mb', type: '*/*' })],
    ['express.raw()', () => express.raw({ limit: '20mb', type: '*/*' })],
  ];

  it.each(generous)('refuses a request with too many values or keys: %s', async (_, parser) => {
    const { chat } = await behind(parser);
    const wide = ask('Hello?', { x: Array.from({ length: 300_000 }, () => 0) });
    const keys = Object.fromEntries(Array.from({ length: 150_000 }, (_, at) => [`k${at}`, 0]));
    await expectRefusal(
      await post(chat, wide),
      400,
      'invalid_request_error',
      'The request body has more than the 300000 values accepted.',
    );
    await expectRefusal(
      await post(chat, ask('Hello?', { x: keys })),
      400,
      'invalid_request_error',
      'The request body has more than the 150000 keys accepted.',
    );
    expect(simulator.requests).toEqual([]);
  });

  it.each(generous.slice(1))('refuses a text above max_body_bytes: %s', async (_, parser) => {
    const { chat } = await behind(parser);
    const reply = await post(chat, `${JSON.stringify(ask('Hello?'))}${' '.repeat(17_000_000)}`);
    await expectRefusal(
      reply,
      413,
      'invalid_request_error',
      'The request body is larger than the 16777216 bytes accepted.',
    );
  });
});
