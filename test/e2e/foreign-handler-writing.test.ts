import { once } from 'node:events';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { afterEach, describe, expect, it } from '@jest/globals';
import type { Response as ExpressResponse } from 'express';
import { post } from '../support/chain-app.ts';
import { closeApps } from '../support/express-app.ts';
import { answer, chatOf, stream, usage, whole } from '../support/foreign-replies.ts';
import { ask, eventsOf } from '../support/gateway-under-test.ts';

afterEach(closeApps);

/** The two bodies in pieces of seven bytes, so that characters, events and tags are cut. */
const cut = (text: string): Buffer[] => {
  const bytes = Buffer.from(text);
  return Array.from({ length: Math.ceil(bytes.length / 7) }, (_, at) => bytes.subarray(at * 7, at * 7 + 7));
};

/** The ways in which handlers write, for a body of either kind. */
const ways: [string, (response: ExpressResponse, type: string, text: string) => unknown][] = [
  ['send', (response, type, text) => response.type(type).send(text)],
  ['end with a string', (response, type, text) => response.setHeader('content-type', type).end(text)],
  [
    'end with bytes',
    (response, type, text) => response.setHeader('content-type', type).end(Buffer.from(text)),
  ],
  [
    'end with an encoding and a callback',
    (response, type, text) =>
      response.type(type).end(Buffer.from(text).toString('base64'), 'base64', () => {}),
  ],
  [
    'write and end',
    (response, type, text) => {
      response.type(type);
      for (const piece of cut(text)) response.write(piece);
      response.end();
    },
  ],
  [
    'write with callbacks, one after the other',
    async (response, type, text) => {
      response.type(type);
      for (const piece of cut(text)) await new Promise(done => response.write(piece, done));
      await new Promise<void>(done => response.end(done));
    },
  ],
  [
    'writeHead with an object',
    (response, type, text) =>
      response.writeHead(200, { 'Content-Type': type, 'Content-Length': Buffer.byteLength(text) }).end(text),
  ],
  [
    'writeHead with a reason and an object',
    (response, type, text) => response.writeHead(200, 'Fine', { 'content-type': type }).end(text),
  ],
  [
    'writeHead with a list',
    (response, type, text) =>
      response.writeHead(200, ['content-type', type, 'set-cookie', 'a=1', 'set-cookie', 'b=2']).end(text),
  ],
  [
    'writeHead with a list of pairs',
    (response, type, text) =>
      response.writeHead(200, [['content-type', type]] as unknown as string[]).end(text),
  ],
  [
    'flushHeaders first',
    async (response, type, text) => {
      response.type(type).flushHeaders();
      await new Promise(done => setTimeout(done, 20));
      response.end(text);
    },
  ],
  ['pipe', (response, type, text) => Readable.from(cut(text)).pipe(response.type(type))],
  [
    'pipeline',
    async (response, type, text) => {
      await pipeline(Readable.from(cut(text)), response.type(type));
    },
  ],
  [
    'pipeline from a generator',
    async (response, type, text) => {
      await pipeline(async function* () {
        yield* cut(text);
      }, response.type(type));
    },
  ],
];

describe('a JSON reply of a handler', () => {
  it.each([...ways, ['json', (response: ExpressResponse) => response.json(JSON.parse(whole))] as const])(
    'is transformed when its body is written by %s',
    async (_, write) => {
      const chat = await chatOf((_request, response) => write(response, 'application/json', whole));
      const reply = await post(chat, ask('Hello?'));
      expect(reply.status).toBe(200);
      expect(reply.statusText).toBe('OK');
      expect(reply.headers.get('content-type')).toBe('application/json; charset=utf-8');
      expect(await reply.json()).toEqual({
        id: expect.stringMatching(/^chatcmpl-/),
        object: 'chat.completion',
        created: expect.any(Number),
        model: 'aion-labs/aion-3.5',
        choices: [
          {
            index: 0,
            message: { role: 'assistant', content: answer, reasoning: 'Hm.' },
            finish_reason: 'stop',
          },
        ],
        usage,
      });
    },
  );
});

describe('a stream of a handler', () => {
  it.each(ways)('is transformed when its events are written by %s', async (_, write) => {
    const chat = await chatOf((_request, response) => write(response, 'text/event-stream', stream.join('')));
    const reply = await post(chat, ask('Hello?', { stream: true }));
    expect(reply.status).toBe(200);
    expect(reply.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
    expect(reply.headers.get('content-length')).toBeNull();
    const events = eventsOf(await reply.text());
    expect(events.at(-1)?.data).toBe('[DONE]');
    const deltas = events
      .slice(0, -1)
      .map(({ json }) => [json.choices?.[0]?.delta, json.choices?.[0]?.finish_reason]);
    expect(deltas).toEqual([
      [{ role: 'assistant', content: '' }, null],
      [{ reasoning: 'Hm.' }, null],
      [{ content: answer }, null],
      [{}, 'stop'],
    ]);
    expect(events.map(({ json }) => json.usage)).toEqual([undefined, undefined, undefined, usage, undefined]);
  });
});

describe('the response object that a handler sees', () => {
  it('has headersSent set after the first write, though the client has received nothing yet', async () => {
    const seen: unknown[] = [];
    const chat = await chatOf(async (_request, response) => {
      seen.push(response.headersSent);
      response.type('application/json').write(whole.slice(0, 20));
      seen.push(response.headersSent);
      // As Express's own error handling and proxies do: a second head changes nothing.
      if (!response.headersSent) response.status(500);
      response.writeHead(500, { 'content-type': 'text/html', 'x-late': 'yes' });
      response.end(whole.slice(20));
    });
    const reply = await post(chat, ask('Hello?'));
    expect(seen).toEqual([false, true]);
    expect(reply.status).toBe(200);
    expect(reply.headers.get('x-late')).toBeNull();
  });

  it('reports backpressure and emits drain', async () => {
    const seen: unknown[] = [];
    const large = JSON.stringify({ ...JSON.parse(whole), padding: 'x'.repeat(600_000) });
    const chat = await chatOf(async (_request, response) => {
      response.type('application/json');
      seen.push(response.write(large.slice(0, 500_000)), response.writableNeedDrain);
      await once(response, 'drain');
      seen.push(response.writableNeedDrain, response.write(large.slice(500_000, 500_100)));
      response.end(large.slice(500_100));
    });
    expect(await (await post(chat, ask('Hello?'))).json()).toMatchObject({ object: 'chat.completion' });
    expect(seen).toEqual([false, true, false, true]);
  });

  it('calls the write callbacks and emits finish and close', async () => {
    const seen: string[] = [];
    const chat = await chatOf((_request, response) => {
      response.once('finish', () => seen.push('finish'));
      response.once('close', () => seen.push('close'));
      response.type('application/json').write(whole, 'utf8', () => seen.push('written'));
      response.end(() => seen.push('ended'));
    });
    await (await post(chat, ask('Hello?'))).text();
    await new Promise(resolve => setTimeout(resolve, 50));
    expect(seen[0]).toBe('written');
    expect(seen.slice(1, 3).sort()).toEqual(['ended', 'finish']);
    expect(seen.slice(3)).toEqual(['close']);
  });
});
