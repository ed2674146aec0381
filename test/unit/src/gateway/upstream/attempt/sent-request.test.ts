import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Registry } from 'prom-client';
import { openrouter } from '../../../../../../plugins/providers/openrouter/index.ts';
import {
  AttemptFailed,
  type Failure,
} from '../../../../../../src/gateway/upstream/attempt/attempt-failure.ts';
import { SentRequest } from '../../../../../../src/gateway/upstream/attempt/sent-request.ts';
import { UpstreamError } from '../../../../../../src/gateway/upstream/http/upstream-error.ts';
import { ClientMetrics } from '../../../../../../src/telemetry/client-metrics.ts';
import {
  head,
  type ScriptedUpstream,
  startScriptedUpstream,
  whole,
} from '../../../../../support/scripted-upstream.ts';
import { sampleExchange } from '../../../../sample-exchange.ts';
import { closeRoutes, routeOver } from '../sample-route.ts';

const [first, second] = ['key-of-the-provider-1', 'key-of-the-provider-2'];

let server: ScriptedUpstream;
beforeEach(async () => {
  server = await startScriptedUpstream(whole(200, {}));
});
afterEach(async () => {
  await closeRoutes();
  await server.close();
});

function setting(provider: object = {}, request: object = {}) {
  const { a, clock } = routeOver([{ provider: { base_url: server.url, api_key: first, ...provider } }]);
  const exchange = sampleExchange({ request, start: { clock } });
  return {
    upstream: a,
    exchange,
    clock,
    send: () => new SentRequest(exchange, a, new ClientMetrics(new Registry()), 0),
  };
}

const failureOf = (sent: SentRequest): Promise<Failure> =>
  sent.head().then(
    () => Promise.reject(new Error('the head was accepted')),
    (thrown: unknown) => {
      if (thrown instanceof AttemptFailed) return thrown.failure;
      throw thrown;
    },
  );

describe('a sent request', () => {
  it('has the path, body and key of its upstream, and is counted on the exchange', async () => {
    const { exchange, send } = setting({ headers: { 'X-Team': 'search' } });
    expect((await send().head()).status).toBe(200);
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
    await send().head();
    expect(server.last.body).not.toHaveProperty('temperature');
    expect(exchange.replyHeaders).toEqual({ 'x-ignored-parameters': 'temperature' });
  });

  it('is neither sent nor counted when its adapter cannot express it', () => {
    const { upstream, exchange, send } = setting();
    Object.assign(upstream.provider, {
      encode: () => {
        throw new Error('cannot be expressed');
      },
    });
    expect(send).toThrow('cannot be expressed');
    expect([exchange.provider, exchange.attempts.length, server.requests.length]).toEqual([undefined, 0, 0]);
  });
});

describe('an error status of an upstream', () => {
  it.each([299, 300])('starts at 300: %i', async status => {
    server.reply(whole(status, {}));
    const refused = setting().send().head();
    if (status < 300) expect((await refused).status).toBe(status);
    else await expect(refused).rejects.toBeInstanceOf(AttemptFailed);
  });

  it('keeps the Retry-After for the client, and in seconds for the router', async () => {
    server.reply(whole(429, {}, { 'retry-after': '7' }));
    const failure = await failureOf(setting().send());
    expect(failure).toMatchObject({ kind: 'rate_limited', retry_after_s: 7, another_key: false });
    expect(failure.error.headers).toEqual({ 'retry-after': '7' });
  });

  it.each([
    [401, true],
    [429, true],
    [500, false],
  ])('of %i may be retried with another key: %s', async (status, another_key) => {
    server.reply(whole(status, {}));
    const { send } = setting({ api_key: undefined, api_keys: [first, second] });
    expect(await failureOf(send())).toMatchObject({ another_key });
    await failureOf(send());
    const keys = server.requests.map(({ headers }) => headers.authorization);
    expect(keys).toEqual([`Bearer ${first}`, `Bearer ${second}`]);
  });

  it('cannot be retried with another key once all keys were declined', async () => {
    server.reply(whole(401, {}));
    const { send } = setting({ api_key: undefined, api_keys: [first, second] });
    await failureOf(send());
    expect(await failureOf(send())).toMatchObject({ another_key: false });
  });

  it('is classified by the adapter', async () => {
    const flagged = { error: { message: 'flagged', code: 403, metadata: { reasons: ['violence'] } } };
    server.reply(whole(403, flagged));
    const { upstream, send } = setting();
    expect(await failureOf(send())).toMatchObject({ kind: 'misconfigured' });
    const own = openrouter.create(openrouter.schema.parse({}) as never, undefined as never);
    Object.assign(upstream.provider, { adapter: own });
    expect(await failureOf(send())).toMatchObject({ kind: 'refused' });
  });

  it('hides a key that the body repeats', async () => {
    server.reply(whole(400, { error: { message: `Bad key ${first}!` } }));
    const { error } = await failureOf(setting().send());
    expect(error.message).toContain('Bad key [secret]!');
    expect((error.cause as Error).message).not.toContain(first);
  });

  it('hides a configured header that the body repeats', async () => {
    server.reply(whole(400, { error: { message: 'The gateway pass-for-us is not known.' } }));
    const { error } = await failureOf(setting({ headers: { 'x-gateway': 'pass-for-us' } }).send());
    expect(error.message).toBe('The gateway [secret] is not known.');
  });

  it('is reported even when its body breaks off or cannot be decompressed', async () => {
    server.replyOnce(socket => {
      socket.write(`${head(400, { 'content-length': 100 })}{"error`);
      socket.end();
    });
    const { send } = setting();
    expect(await failureOf(send())).toMatchObject({ kind: 'refused' });
    server.replyOnce(whole(400, 'x', { 'content-encoding': 'zstd' }));
    expect(await failureOf(send())).toMatchObject({ kind: 'refused' });
  });

  it('is reported after three seconds although its body does not end', async () => {
    server.reply(`${head(400, { 'content-length': 100 })}{"error`);
    expect(await failureOf(setting().send())).toMatchObject({ kind: 'refused' });
    expect(await server.last.closed).toBe('gateway');
  });
});

describe('an error thrown while a request is sent', () => {
  it('means unreachable before the head of the reply, and broken after it', async () => {
    const sent = setting().send();
    expect(sent.failureOf(new Error('reset'))).toMatchObject({ kind: 'unreachable' });
    await sent.head();
    expect(sent.failureOf(new Error('reset'))).toMatchObject({ kind: 'broken' });
  });

  it('hides a key that the upstream repeats', () => {
    const { error, kind } = setting()
      .send()
      .failureOf(new UpstreamError(`bad ${first}`, 400));
    expect([kind, error.message]).toEqual(['refused', expect.stringContaining('bad [secret]')]);
  });

  it('is a 429 for the client only where that is configured', () => {
    const thrown = new UpstreamError('slow down', 429);
    expect(setting().send().failureOf(thrown).error.status).toBe(502);
    expect(setting({ pass_upstream_429: true }).send().failureOf(thrown).error.status).toBe(429);
  });
});
