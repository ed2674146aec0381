import { type IncomingHttpHeaders, request } from 'node:http';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { afterEach, describe, expect, it } from '@jest/globals';
import compression from 'compression';
import { chainOf, post, proxyTo } from '../support/chain-app.ts';
import { alongside, startApp } from '../support/express-app.ts';
import { ask, clientKey, eventsOf } from '../support/gateway-under-test.ts';
import { completion, finished, said, used } from '../support/hostile-setting.ts';
import { closeMounted, mounted } from '../support/mounted-gateway.ts';
import { send } from '../support/raw-client.ts';
import {
  chunk,
  events,
  lastChunk,
  startScriptedUpstream,
  streamHead,
  whole,
} from '../support/scripted-upstream.ts';
import { until } from '../support/until.ts';

afterEach(closeMounted);

/** An application that compresses whatever it may, however small. */
type Start = (upstream: { url: string }, server?: object) => Promise<{ url: string; chat: string }>;
const applications: [string, Start][] = [
  [
    'a gateway',
    (upstream, server = {}) => mounted(upstream, app => app.use(compression({ threshold: 0 })), { server }),
  ],
  [
    'a chain',
    async (upstream, options = {}) => {
      const app = await startApp(app =>
        app.use(compression({ threshold: 0 }), chainOf(undefined, options), proxyTo(upstream)),
      );
      return { ...app, chat: `${app.url}/v1/chat/completions` };
    },
  ],
];

describe.each(applications)('%s mounted behind compression()', (_, start) => {
  it('delivers the comments and the chunks of a stream one by one', async () => {
    let seen = '';
    const upstream = await startScriptedUpstream(async socket => {
      await until(() => seen.includes(': keep-alive\n\n'));
      socket.write(streamHead());
      for (const word of ['They ', 'wander ', 'off.']) {
        socket.write(chunk(events(said(word))));
        await until(() => seen.includes(word));
      }
      socket.write(chunk(events(finished(), used(7, 3), '[DONE]')) + lastChunk);
    });
    const { chat } = await start(alongside(upstream), { stream_commit_ms: 50, keepalive_ms: 50 });
    const reply = await post(chat, ask('?', { stream: true }), { 'accept-encoding': 'gzip, br' });
    expect(reply.headers.get('content-encoding')).toBeNull();
    expect(reply.headers.get('cache-control')).toBe('no-cache, no-transform');
    for await (const part of reply.body!.pipeThrough(new TextDecoderStream())) seen += part;
    expect(eventsOf(seen).at(-1)?.data).toBe('[DONE]');
  });

  it.each([
    ['gzip', gunzipSync],
    ['br', brotliDecompressSync],
  ])('compresses JSON with %s only for a client that accepts it', async (encoding, decompress) => {
    const content = 'word '.repeat(400_000);
    const { url, chat } = await start(
      alongside(await startScriptedUpstream(whole(200, completion(content)))),
    );
    for (const [target, body] of [
      [`${url}/v1/models`, undefined],
      [chat, '{'],
      [chat, JSON.stringify(ask('?'))],
    ] as const) {
      const reply = await raw(target, body, encoding);
      expect(reply.headers['content-encoding']).toBe(encoding);
      expect(reply.headers).not.toHaveProperty('content-length');
      const told = JSON.parse(decompress(reply.bytes).toString());
      if (body && body !== '{') expect(told).toMatchObject({ choices: [{ message: { content } }] });
    }
    const plain = await send(`${url}/v1/models`);
    expect(plain.headers).not.toHaveProperty('content-encoding');
    expect(JSON.parse(plain.text)).toMatchObject({ object: 'list' });
  });
});

interface Reply {
  readonly headers: IncomingHttpHeaders;
  readonly bytes: Buffer;
}

/** A reply whose bytes are left as they came. */
function raw(url: string, body: string | undefined, encoding: string): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const method = body === undefined ? 'GET' : 'POST';
    const headers = {
      authorization: `Bearer ${clientKey}`,
      'content-type': 'application/json',
      'accept-encoding': encoding,
    };
    const sent = request(url, { method, headers, agent: false }, response => {
      const parts: Buffer[] = [];
      response
        .on('data', part => parts.push(part))
        .on('end', () => resolve({ headers: response.headers, bytes: Buffer.concat(parts) }));
    });
    sent.on('error', reject).end(body);
  });
}
