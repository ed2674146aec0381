import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Registry } from 'prom-client';
import { openrouter } from '../../../../../../plugins/providers/openrouter/index.ts';
import { Attempt } from '../../../../../../src/gateway/upstream/attempt/attempt.ts';
import type { Failure } from '../../../../../../src/gateway/upstream/attempt/attempt-failure.ts';
import { AttemptPermit } from '../../../../../../src/gateway/upstream/routing/attempt-permit.ts';
import { Metrics } from '../../../../../../src/telemetry/metrics.ts';
import {
  head,
  type ScriptedUpstream,
  startScriptedUpstream,
  thenReset,
  whole,
} from '../../../../../support/scripted-upstream.ts';
import { sampleExchange } from '../../../../sample-exchange.ts';
import { closeRoutes, routeOver } from '../sample-route.ts';

const [first, second] = ['key-of-the-provider-1', 'key-of-the-provider-2'];

const answer = {
  choices: [{ index: 0, message: { role: 'assistant', content: 'Yes.' }, finish_reason: 'stop' }],
};

let server: ScriptedUpstream;
beforeEach(async () => {
  server = await startScriptedUpstream(whole(200, answer));
});
afterEach(async () => {
  await closeRoutes();
  await server.close();
});

function setting(provider: object = {}, request: object = {}) {
  const { a, clock } = routeOver([{ provider: { base_url: server.url, api_key: first, ...provider } }]);
  const exchange = sampleExchange({ request, start: { clock } });
  /** Makes an attempt; resolves with its failure. */
  const send = async (): Promise<Failure | undefined> => {
    const permit = AttemptPermit.acquire(a, exchange.request, clock.elapsed_ms());
    const attempt = new Attempt(exchange, permit, new Metrics(new Registry()));
    await attempt.reply().catch(() => {});
    return attempt.failure;
  };
  return { upstream: a, exchange, send };
}

describe('a sent request', () => {
  it('has the path, body and key of its upstream, and is counted on the exchange', async () => {
    const { exchange, send } = setting({ headers: { 'X-Team': 'search' } });
    expect(await send()).toBeUndefined();
    expect(server.last).toMatchObject({
      method: 'POST',
      path: '/v1/chat/completions',
      headers: {
        authorization: `Bearer ${first}`,
        'content-type': 'application/json',
        'accept-encoding': 'identity',
        'x-team': 'search',
      },
      body: { model: 'm', messages: exchange.request.messages },
    });
    expect([exchange.provider, exchange.attempts.length]).toEqual(['a', 1]);
  });

  it('names the parameters that its upstream does not take', async () => {
    const { exchange, send } = setting({ drop_parameters: ['temperature'] }, { temperature: 0.5 });
    await send();
    expect(server.last.body).not.toHaveProperty('temperature');
    expect(exchange.replyHeaders).toEqual({ 'x-ignored-parameters': 'temperature' });
  });

  it('is neither sent nor counted when its adapter cannot express it', async () => {
    const { upstream, exchange, send } = setting();
    Object.assign(upstream.provider, {
      encode: () => {
        throw new Error('cannot be expressed');
      },
    });
    expect(await send()).toBeUndefined();
    expect([exchange.provider, exchange.attempts.length, server.requests.length]).toEqual([undefined, 0, 0]);
  });
});

describe('an error status of an upstream', () => {
  it.each([299, 300])('starts at 300: %i', async status => {
    server.reply(whole(status, answer));
    expect((await setting().send())?.kind).toBe(status < 300 ? undefined : 'status');
  });

  it('keeps the Retry-After for the client, and in seconds for the router', async () => {
    server.reply(whole(429, {}, { 'retry-after': '7' }));
    const failure = await setting().send();
    expect(failure).toMatchObject({ kind: 'rate_limited', retry_after_s: 7, another_key: false });
    expect(failure?.error.headers).toEqual({ 'retry-after': '7' });
  });

  it.each([
    [401, true],
    [429, true],
    [500, false],
  ])('of %i may be retried with another key: %s', async (status, another_key) => {
    server.reply(whole(status, {}));
    const { send } = setting({ api_key: undefined, api_keys: [first, second] });
    expect(await send()).toMatchObject({ another_key });
    await send();
    const keys = server.requests.map(({ headers }) => headers.authorization);
    expect(keys).toEqual([`Bearer ${first}`, `Bearer ${second}`]);
  });

  it('cannot be retried with another key once all keys were declined', async () => {
    server.reply(whole(401, {}));
    const { send } = setting({ api_key: undefined, api_keys: [first, second] });
    await send();
    expect(await send()).toMatchObject({ another_key: false });
  });

  it('is classified by the adapter', async () => {
    const flagged = { error: { message: 'flagged', code: 403, metadata: { reasons: ['violence'] } } };
    server.reply(whole(403, flagged));
    const { upstream, send } = setting();
    expect(await send()).toMatchObject({ kind: 'misconfigured' });
    const own = openrouter.create(openrouter.schema.parse({}) as never, undefined as never);
    Object.assign(upstream.provider, { adapter: own });
    expect(await send()).toMatchObject({ kind: 'refused' });
  });

  it('hides a key that the body repeats', async () => {
    server.reply(whole(400, { error: { message: `Bad key ${first}!` } }));
    const { error } = (await setting().send())!;
    expect(error.message).toContain('Bad key [secret]!');
    expect((error.cause as Error).message).not.toContain(first);
  });

  it('hides a configured header that the body repeats', async () => {
    server.reply(whole(400, { error: { message: 'The gateway pass-for-us is not known.' } }));
    const { error } = (await setting({ headers: { 'x-gateway': 'pass-for-us' } }).send())!;
    expect(error.message).toBe('The gateway [secret] is not known.');
  });

  it('is reported even when its body breaks off or cannot be decompressed', async () => {
    server.replyOnce(socket => {
      socket.write(`${head(400, { 'content-length': 100 })}{"error`);
      socket.end();
    });
    const { send } = setting();
    expect(await send()).toMatchObject({ kind: 'refused' });
    server.replyOnce(whole(400, 'x', { 'content-encoding': 'zstd' }));
    expect(await send()).toMatchObject({ kind: 'refused' });
  });

  it('is reported after three seconds although its body does not end', async () => {
    server.reply(`${head(400, { 'content-length': 100 })}{"error`);
    expect(await setting().send()).toMatchObject({ kind: 'refused' });
    expect(await server.last.closed).toBe('gateway');
  });
});

describe('an error of the connection', () => {
  it('means unreachable before the head of the reply, and broken after it', async () => {
    server.replyOnce(socket => socket.resetAndDestroy());
    expect(await setting().send()).toMatchObject({ kind: 'unreachable' });
    server.replyOnce(thenReset(head(200, { 'content-length': 100 })));
    expect(await setting().send()).toMatchObject({ kind: 'broken' });
  });
});

describe('an error in a reply', () => {
  const erring = (code: number, message: string, provider: object = {}) => {
    server.reply(whole(200, { error: { code, message } }));
    const { upstream, send } = setting(provider);
    const own = openrouter.create(openrouter.schema.parse({}) as never, undefined as never);
    Object.assign(upstream.provider, { adapter: own });
    return send();
  };

  it('hides a key that the upstream repeats', async () => {
    const { error, kind } = (await erring(400, `bad ${first}`))!;
    expect([kind, error.message]).toEqual(['refused', expect.stringContaining('bad [secret]')]);
  });

  it('is a 429 for the client only where that is configured', async () => {
    expect((await erring(429, 'slow down'))?.error.status).toBe(502);
    expect((await erring(429, 'slow down', { pass_upstream_429: true }))?.error.status).toBe(429);
  });
});
