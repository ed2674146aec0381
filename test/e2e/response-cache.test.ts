import { afterEach, describe, expect, it } from '@jest/globals';
import { auth, responseCache } from '../../src/index.ts';
import { chainOf, post as postTo, settlements } from '../support/chain-app.ts';
import { requestOf } from '../support/chain-connection.ts';
import { alongside, closeApps, startApp } from '../support/express-app.ts';
import { stream as foreignStream } from '../support/foreign-replies.ts';
import {
  ask,
  clientKey,
  type GatewayOverrides,
  type GatewayUnderTest,
  startGateway,
} from '../support/gateway-under-test.ts';
import { completion, expectWholeStream, finished, said, used } from '../support/hostile-setting.ts';
import { RawConnection } from '../support/raw-client.ts';
import { startRedis } from '../support/redis-server.ts';
import {
  events,
  chunk as piece,
  pieces,
  type ScriptedUpstream,
  startScriptedUpstream,
  streamed,
  streamHead,
  thenClose,
  whole,
} from '../support/scripted-upstream.ts';
import { until } from '../support/until.ts';

afterEach(closeApps);

const otherKey = 'sk-client-key-of-another';
const accounts = { tester: { keys: [{ value: clientKey }] }, other: { keys: [{ value: otherKey }] } };
const otherAccount = { headers: { authorization: `Bearer ${otherKey}` } };

interface Cached extends GatewayUnderTest {
  readonly upstream: ScriptedUpstream;
}

/** A gateway with the default chain and then the cache. */
async function cached(options: object = {}, overrides: Partial<GatewayOverrides> = {}): Promise<Cached> {
  const upstream = alongside(await startScriptedUpstream());
  const stages = ['error-envelope', 'auth', 'validation', 'rate-limit', 'request-rewrite'];
  const gateway = alongside(
    await startGateway({
      upstream,
      stages: [...stages, 'stream-rechunk', 'reasoning-split', { 'response-cache': options }],
      ...overrides,
      config: { accounts, ...overrides.config },
    }),
  );
  return { ...gateway, upstream };
}

/** The same with the reply to `Hello?` in its cache. */
async function warmed(...given: Parameters<typeof cached>): Promise<Cached> {
  const gateway = await cached(...given);
  gateway.upstream.reply(whole(200, completion('Yes.')));
  await (await gateway.post(ask('Hello?'))).text();
  await settled(gateway);
  return gateway;
}

const streamOf = (...parts: readonly object[]) => streamed(events(...parts, '[DONE]'));
const xCache = ({ headers }: { readonly headers: Headers }) => headers.get('x-cache');
const settled = ({ gateway }: GatewayUnderTest) => until(() => gateway.inFlight === 0);

describe('a reply in the cache', () => {
  const thought = completion('<think>Hm.</think>Yes.');

  it('answers the same request again, whole or as a stream, without the upstream and without cost', async () => {
    const gateway = await cached();
    gateway.upstream.reply(whole(200, thought));
    const first = await gateway.post(ask('Hello?'));
    expect(xCache(first)).toBe('miss');
    const { choices } = (await first.json()) as { choices: object };
    await settled(gateway);

    const again = await gateway.post(
      ask('Hello?', { user: 'someone', prompt_cache_key: 'k', metadata: { a: 'b' } }),
    );
    expect(xCache(again)).toBe('hit');
    const free = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };
    expect(await again.json()).toMatchObject({ choices, usage: free });

    const streamed = await gateway.stream(
      ask('Hello?', { stream_options: { continuous_usage_stats: true } }),
    );
    expect(xCache(streamed)).toBe('hit');
    const chunks = expectWholeStream(streamed, 'Yes.');
    expect(chunks.map(({ json }) => json.usage?.total_tokens)).toEqual(chunks.map(() => 0));
    expect(streamed.text).toContain('"reasoning":"Hm."');

    expect(gateway.upstream.requests).toHaveLength(1);
    await settled(gateway);
    expect(await gateway.metric('sluice_tokens_total')).toBe(10);
    expect(await gateway.metric('sluice_response_cache_requests_total', { result: 'hit' })).toBe(2);
    expect(await gateway.metric('sluice_response_cache_requests_total', { result: 'miss' })).toBe(1);
    expect(await gateway.metric('sluice_response_cache_stored_bytes_total')).toBeGreaterThan(50);
  });

  it('is billed like the first reply with bill_hits', async () => {
    const gateway = await cached({ bill_hits: true });
    gateway.upstream.reply(streamOf(said('Yes.'), finished(), used(7, 3, 2)));
    const first = expectWholeStream(await gateway.stream(ask('Hello?')), 'Yes.').at(-1)?.json.usage;
    await settled(gateway);
    const streamed = await gateway.stream(
      ask('Hello?', { stream_options: { continuous_usage_stats: true } }),
    );
    const usages = expectWholeStream(streamed, 'Yes.').map(({ json }) => json.usage);
    expect(usages.at(-1)).toEqual(first);
    expect(usages.map(usage => usage?.completion_tokens)).toEqual([0, 3, 3]);
    expect(await (await gateway.post(ask('Hello?'))).json()).toMatchObject({ usage: first });
    await settled(gateway);
    expect(await gateway.metric('sluice_tokens_total', { kind: 'output' })).toBe(9);
    expect(gateway.upstream.requests).toHaveLength(1);
  });

  it('is found by requests of another format', async () => {
    const gateway = await warmed();
    const asked = { model: 'aion-labs/aion-3.5', input: 'Hello?' };
    const reply = await gateway.post(asked, { path: '/v1/responses' });
    expect([xCache(reply), await reply.text()]).toEqual(['hit', expect.stringContaining('"text":"Yes."')]);
    expect(gateway.upstream.requests).toHaveLength(1);
  });

  it('is not used for another request', async () => {
    const gateway = await cached();
    gateway.upstream.reply(whole(200, thought));
    const others = [
      {},
      { messages: [{ role: 'user', content: 'Hello!' }] },
      { model: 'aion-labs/aion-3.0' },
      { temperature: 0 },
      { seed: 1 },
      { n: 2 },
      { reasoning_split: false },
      { reasoning_effort: 'low' },
      { stop: ['x'] },
      { top_k: 5 },
    ];
    for (const more of others) expect(xCache(await gateway.post(ask('Hello?', more)))).toBe('miss');
  });

  it('is found whatever the order of the fields', async () => {
    const gateway = await cached();
    gateway.upstream.reply(whole(200, completion('Yes.')));
    const format = (schema: object) => ({ response_format: { type: 'json_schema', json_schema: schema } });
    await (await gateway.post(ask('Hello?', format({ name: 'a', schema: { type: 'object' } })))).text();
    await settled(gateway);
    const again = await gateway.post(ask('Hello?', format({ schema: { type: 'object' }, name: 'a' })));
    expect(xCache(again)).toBe('hit');
  });
});

describe('whose replies are found', () => {
  it("are the account's own", async () => {
    const gateway = await warmed();
    expect(xCache(await gateway.post(ask('Hello?'), otherAccount))).toBe('miss');
    expect(xCache(await gateway.post(ask('Hello?')))).toBe('hit');
  });

  it('are those of all where the cache is shared', async () => {
    const gateway = await warmed({ shared: true });
    expect(xCache(await gateway.post(ask('Hello?'), otherAccount))).toBe('hit');
  });

  it("are nobody's without an account", async () => {
    const gateway = await cached(
      {},
      { stages: ['response-cache'], config: { server: { port: 0, open: true } } },
    );
    gateway.upstream.reply(whole(200, completion('Yes.')));
    for (let at = 0; at < 2; at++) expect(xCache(await gateway.post(ask('Hello?')))).toBeNull();
    expect(gateway.upstream.requests).toHaveLength(2);
  });
});

describe('what is not cached', () => {
  it.each([
    ['an error', whole(500, {})],
    ['a refusal', whole(400, { error: { message: 'no' } })],
    ['a stream that breaks off', thenClose(streamHead(), piece(events(said('Yes.'))))],
    ['a stream with an error event', streamOf(said('Yes.'), { error: { message: 'oops' } })],
  ])('is %s', async (_, script) => {
    const gateway = await cached();
    gateway.upstream.replyOnce(script);
    gateway.upstream.reply(streamOf(said('Well.'), finished(), used(7, 3)));
    await (await gateway.post(ask('Hello?', { stream: true }))).text();
    await settled(gateway);
    const again = await gateway.stream(ask('Hello?'));
    expect(xCache(again)).toBe('miss');
    expectWholeStream(again, 'Well.');
  });

  it('is a reply whose client has left', async () => {
    const gateway = await cached();
    gateway.upstream.replyOnce(pieces([streamHead(), piece(events(said('Yes.')))]));
    const connection = new RawConnection(gateway.url);
    alongside({ close: () => connection.destroy() });
    connection.write(requestOf(ask('Hello?', { stream: true })));
    await connection.received(/Yes\./);
    connection.destroy();
    await settled(gateway);
    gateway.upstream.reply(whole(200, completion('Well.')));
    expect(xCache(await gateway.post(ask('Hello?')))).toBe('miss');
  });

  it.each([true, false])('is a reply of more characters than max_characters (stream: %s)', async stream => {
    const gateway = await cached({ max_characters: 100 });
    const long = 'x'.repeat(101);
    gateway.upstream.reply(
      stream ? streamOf(said(long), finished(), used(7, 3)) : whole(200, completion(long)),
    );
    for (let at = 0; at < 2; at++) {
      const reply = await gateway.post(ask('Hello?', { stream }));
      expect(xCache(reply)).toBe('miss');
      await reply.text();
      await settled(gateway);
    }
  });

  it('is a request that may be answered differently, with deterministic_only', async () => {
    const gateway = await cached({ deterministic_only: true });
    gateway.upstream.reply(whole(200, completion('Yes.')));
    for (const [more, result] of [
      [{}, null],
      [{ temperature: 1 }, null],
      [{ temperature: 0 }, 'miss'],
      [{ seed: 5 }, 'miss'],
    ] as const)
      expect(xCache(await gateway.post(ask('Hello?', more)))).toBe(result);
    expect(await gateway.metric('sluice_response_cache_requests_total', { result: 'bypass' })).toBe(2);
  });

  it('is what the client says is not', async () => {
    const gateway = await cached();
    const wish = (value: string) => ({ headers: { 'cache-control': value } });
    const textOf = async (reply: Response) => {
      const { choices } = (await reply.json()) as { choices: [{ message: { content: string } }] };
      await settled(gateway);
      return [xCache(reply), choices[0].message.content];
    };
    gateway.upstream.reply(whole(200, completion('One.')));
    expect(await textOf(await gateway.post(ask('Hello?'), wish('no-store')))).toEqual([null, 'One.']);
    expect(await textOf(await gateway.post(ask('Hello?')))).toEqual(['miss', 'One.']);
    gateway.upstream.reply(whole(200, completion('Two.')));
    expect(await textOf(await gateway.post(ask('Hello?'), wish('no-store')))).toEqual([null, 'Two.']);
    expect(await textOf(await gateway.post(ask('Hello?')))).toEqual(['hit', 'One.']);
    expect(await textOf(await gateway.post(ask('Hello?'), wish('max-age=0, No-Cache')))).toEqual([
      'miss',
      'Two.',
    ]);
    expect(await textOf(await gateway.post(ask('Hello?')))).toEqual(['hit', 'Two.']);
  });
});

describe('the cache behind other stores', () => {
  it('is shared by gateways with one Redis, and missing while it is down', async () => {
    const redis = alongsideRedis(await startRedis());
    const stores = { state: redis.url, state_timeout_ms: 5000 };
    const [one, two] = [await cached({}, { config: { stores } }), await cached({}, { config: { stores } })];
    one.upstream.reply(whole(200, completion('From one.')));
    two.upstream.reply(whole(200, completion('From two.')));
    const first = async () => {
      await (await one.post(ask('Hello?'))).text();
      await settled(one);
      return (await redis.cli('KEYS', 'sluice:cache:*')) !== '';
    };
    await until(first);
    await until(async () => xCache(await two.post(ask('Hello?'))) === 'hit');
    await redis.kill();
    const alone = await two.post(ask('Hello?'));
    expect([alone.status, xCache(alone)]).toEqual([200, 'miss']);
    expect(await alone.text()).toContain('From two.');
  });

  it('works in front of a handler, which is not called for a hit', async () => {
    let asked = 0;
    const { outcomes, stage } = settlements();
    const { url } = await startApp(app =>
      app.use(chainOf([stage, auth(), responseCache()]) as never, (_, response) => {
        asked++;
        response.type('text/event-stream').end(foreignStream.join(''));
      }),
    );
    const send = async (more: object) => {
      const reply = await postTo(`${url}/v1/chat/completions`, ask('Hello?', more));
      const text = await reply.text();
      await until(() => outcomes.length > 0);
      return { found: xCache(reply), usage: outcomes.pop()!.usage, text };
    };
    expect(await send({ stream: true })).toMatchObject({ found: 'miss', usage: { completion_tokens: 4 } });
    const again = await send({ stream: false });
    expect(again).toMatchObject({ found: 'hit', usage: { prompt_tokens: 0, completion_tokens: 0 } });
    expect(again.text).toContain('Answer é€😀.');
    expect(asked).toBe(1);
  });
});

function alongsideRedis<T extends { stop(): Promise<void> }>(redis: T): T {
  alongside({ close: () => redis.stop() });
  return redis;
}
