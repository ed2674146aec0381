import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { errorEnvelope } from '../../src/index.ts';
import { allStages, chainOf, post, proxyTo } from '../support/chain-app.ts';
import { alongside, closeApps, type RunningApp, startApp } from '../support/express-app.ts';
import { brokenStream } from '../support/foreign-replies.ts';
import { ask, eventsOf } from '../support/gateway-under-test.ts';
import { delta, finished, said } from '../support/hostile-setting.ts';
import {
  chunk,
  events,
  lastChunk,
  pieces,
  type ScriptedUpstream,
  startScriptedUpstream,
  streamed,
  streamHead,
  thenClose,
  thenReset,
  whole,
} from '../support/scripted-upstream.ts';

const chat = '/v1/chat/completions';
let upstream: ScriptedUpstream;

beforeEach(async () => {
  upstream = alongside(await startScriptedUpstream());
});

afterEach(closeApps);

/** All stages in front of the application's own proxy. */
const proxied = () => startApp(app => app.use(chainOf(), proxyTo(upstream)));

const askFor = (app: RunningApp, stream: boolean) => post(app.url + chat, ask('Hello?', { stream }));

describe('a proxied stream that fails after its first content', () => {
  const begun = [
    streamHead(),
    chunk(events(delta({ role: 'assistant', content: '' }), said('So '), said('far.'))),
  ];

  it.each([
    ['a reset', thenReset(...begun), 'The upstream provider closed the stream unexpectedly.'],
    ['a close', thenClose(...begun), 'The upstream provider closed the stream unexpectedly.'],
    [
      'an end without finish reason',
      Buffer.concat([...begun.map(part => Buffer.from(part)), Buffer.from(lastChunk)]),
      'The upstream provider closed the stream unexpectedly.',
    ],
    [
      'an error event',
      thenClose(...begun, chunk(events({ error: { message: 'CUDA' } })), lastChunk),
      'The upstream provider returned an error.',
    ],
    [
      'an event that is not JSON',
      thenClose(...begun, chunk('data: {"choices"\n\n'), lastChunk),
      'The upstream provider returned an invalid response.',
    ],
  ])('ends with one error event and [DONE] after %s', async (_, script, message) => {
    upstream.reply(script);
    const app = await proxied();
    expect(await brokenStream(await askFor(app, true))).toEqual({ content: 'So far.', message });
    expect(app.errors).toEqual([]);
  });

  it('shows no text that the proxy appends after a cut within an event', async () => {
    upstream.reply(thenReset(...begun, 'ff\r\ndata: {"choices":[{"index":0,"delta":{"con'));
    const { content } = await brokenStream(await askFor(await proxied(), true));
    expect(content).toBe('So far.');
  });

  it('is complete when the upstream resets after every choice has ended', async () => {
    upstream.reply(thenReset(...begun, chunk(events(finished()))));
    const all = eventsOf(await (await askFor(await proxied(), true)).text());
    expect(all.at(-1)?.data).toBe('[DONE]');
    expect(all.at(-2)?.json.choices?.[0]?.finish_reason).toBe('stop');
    expect(all.at(-2)?.json.usage?.completion_tokens).toBeGreaterThan(0);
  });

  it('keeps the client connected with heartbeat comments when the upstream stalls past stream_commit_ms', async () => {
    upstream.reply(async socket => {
      await new Promise(resolve => setTimeout(resolve, 400));
      socket.write(whole(500, 'too late for a status'));
    });
    const app = await startApp(app => {
      app.use(chainOf(allStages(), { stream_commit_ms: 50, keepalive_ms: 50 }), proxyTo(upstream));
    });
    const reply = await askFor(app, true);
    expect(reply.status).toBe(200);
    const text = await reply.text();
    expect(text.match(/^: keep-alive\n\n/gm)?.length).toBeGreaterThanOrEqual(2);
    expect(text).toMatch(/\n\ndata: \{"error":.*"provider_error"\}\}\n\ndata: \[DONE\]\n\n$/);
  });
});

describe('the error format with openai_fields', () => {
  it('includes param and code in JSON replies and in streams', async () => {
    const app = await startApp(app => {
      const stages = [errorEnvelope({ openai_fields: true }), ...allStages().slice(1)];
      app.use(chainOf(stages), proxyTo(upstream));
    });
    upstream.reply(whole(500, 'no'));
    expect(await (await askFor(app, false)).json()).toEqual({
      error: { message: expect.any(String), type: 'provider_error', param: null, code: 'provider_error' },
    });
    upstream.reply(pieces([streamed(events(said('So far.')))]));
    const all = eventsOf(await (await askFor(app, true)).text());
    expect(all.at(-2)?.json.error).toMatchObject({ param: null, code: 'provider_broke_off' });
  });
});
