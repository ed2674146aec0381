import { randomBytes } from 'node:crypto';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { GatewayConfig } from '../../src/config/schema.ts';
import type { StateStore } from '../../src/gateway/limits/state-store.ts';
import { MemoryStateStore } from '../../src/mount/state/counters/memory-state-store.ts';
import { ledgerOf } from '../fixtures/stages/ledger.ts';
import { requestOf } from '../support/chain-connection.ts';
import { clientKey, type GatewayUnderTest, startGateway, sumOf } from '../support/gateway-under-test.ts';
import { expectRefusal } from '../support/hostile-setting.ts';
import { RawConnection } from '../support/raw-client.ts';
import {
  chunk,
  events,
  head,
  lastChunk,
  pieces,
  type Script,
  type ScriptedUpstream,
  startScriptedUpstream,
  streamed,
  streamHead,
  thenReset,
  whole,
} from '../support/scripted-upstream.ts';
import { ownStages } from '../support/settlement.ts';
import { until } from '../support/until.ts';

const model = 'aion-labs/aion-3.5';
const book = 'passthrough-usage';
let upstream: ScriptedUpstream;
let gateway: GatewayUnderTest;

const plans = {
  tokens: { tokens_per_day: 20 },
  money: { usd_per_month: '0.00005' },
  cents: { usd_per_month: '0.05' },
  soft: { usd_per_month: { limit: '0.05', hard: false } },
  half: { usd_per_month: '0.5' },
};
type Plan = keyof typeof plans;
const keyOf = (plan: string, at: number) => `sk-${plan}-${at}-0123456789`;
/** Many of each plan, since a test of limits needs one that has used nothing. */
const accounts = Object.keys(plans).flatMap(plan =>
  Array.from({ length: 20 }, (_, at) => [`${plan}-${at}`, { plan, keys: [{ value: keyOf(plan, at) }] }]),
);
const config = {
  passthrough: ['/v1/embeddings', '/v1/rerank', '/v1/completions', '/v1/batches'].map(path => ({
    path,
    provider: 'upstream',
    methods: ['GET', 'POST'],
  })),
  plans,
  accounts: { tester: { keys: [{ value: clientKey }] }, ...Object.fromEntries(accounts) },
} as Partial<GatewayConfig>;

beforeAll(async () => {
  upstream = await startScriptedUpstream(whole(200, {}));
  // It is used however often its upstream breaks off.
  const provider = { breaker: { consecutive_failures: 0, failure_ratio: 1 } };
  gateway = await startGateway({ upstream, provider, stages: ownStages(['ledger', { book }]), config });
});
const others: GatewayUnderTest[] = [];
afterEach(async () => {
  for (const one of others.splice(0)) await one.close();
});
afterAll(async () => {
  await gateway?.close();
  await upstream?.close();
});

let requests = 0;
/** The record of a request, once it is settled. */
async function outcomeOf(send: (request_id: string) => Promise<unknown>): Promise<object> {
  const request_id = `usage-${++requests}`;
  await send(request_id);
  const find = () => ledgerOf(book).find(({ outcome }) => outcome.id === request_id)?.outcome;
  await until(() => find() !== undefined);
  const { usage, ...outcome } = find()!;
  return { ...usage, ...outcome };
}

const embed = { path: '/v1/embeddings' };
const vectors = (numbers: number) =>
  Array.from({ length: numbers }, (_, index) => ({
    object: 'embedding',
    index,
    embedding: [0.25, -1.5e-7, index],
  }));
const embeddings = (usage: unknown, more: object = {}) => ({
  object: 'list',
  data: vectors(3),
  model: 'bge-m3',
  usage,
  ...more,
});

/** The record of a POST whose whole reply is `reply`; expects its bytes to reach the client as they are. */
const outcomeOfReply = (body: unknown, reply: Buffer, path = embed.path) =>
  outcomeOf(async request_id => {
    upstream.replyOnce(reply);
    const response = await gateway.post(body, { path, headers: { 'x-request-id': request_id } });
    expect(response.status).toBe(200);
    await response.arrayBuffer();
  });

describe('the usage of a reply that is passed through', () => {
  it('is billed at the price of the model that the request names', async () => {
    const text = JSON.stringify(embeddings({ prompt_tokens: 8, total_tokens: 8 }));
    const outcome = await outcomeOf(async request_id => {
      upstream.replyOnce(whole(200, text));
      const init = { ...embed, headers: { 'x-request-id': request_id } };
      const response = await gateway.post({ input: ['a', 'b', 'c'], model }, init);
      expect(await response.text()).toBe(text);
    });
    expect(upstream.last.text).toBe(JSON.stringify({ input: ['a', 'b', 'c'], model }));
    expect(outcome).toMatchObject({
      endpoint: 'passthrough',
      account: 'tester',
      provider: 'upstream',
      model,
      status: 200,
      prompt_tokens: 8,
      completion_tokens: 0,
      estimated: false,
      cost_usd: '0.000024',
    });
  });

  it.each<[string, object, object, string, object]>([
    [
      'the name of a model at its provider',
      { model: 'aion-3.5' },
      { usage: { total_tokens: 9 } },
      '/v1/rerank',
      { model, prompt_tokens: 9 },
    ],
    [
      'the model of the reply where the request names none',
      { query: 'a' },
      { model, usage: { total_tokens: 5 } },
      '/v1/rerank',
      { model, prompt_tokens: 5 },
    ],
    [
      'a model outside the catalog, unpriced',
      { model: 'bge' },
      { usage: { prompt_tokens: 5, total_tokens: 5 } },
      '/v1/embeddings',
      { model: undefined, prompt_tokens: 5, cost_usd: '0', estimated: false },
    ],
  ])('is read from %s', async (_, body, reply, path, expected) => {
    expect(await outcomeOfReply(body, whole(200, reply), path)).toMatchObject(expected);
  });

  it('is read from a reply in gzip, whose bytes stay compressed', async () => {
    const packed = gzipSync(JSON.stringify(embeddings({ prompt_tokens: 11, total_tokens: 11 })));
    const outcome = await outcomeOf(async request_id => {
      upstream.replyOnce(whole(200, packed, { 'content-encoding': 'gzip' }));
      const response = await gateway.post({ model }, { ...embed, headers: { 'x-request-id': request_id } });
      expect(response.headers.get('content-length')).toBe(String(packed.length));
      expect(await response.json()).toMatchObject({ object: 'list' });
    });
    expect(outcome).toMatchObject({ model, prompt_tokens: 11, cost_usd: '0.000033' });
  });

  it('is the last one of a stream of completions', async () => {
    const usage = (completion_tokens: number) => ({
      choices: [],
      usage: { prompt_tokens: 3, completion_tokens, total_tokens: 3 + completion_tokens },
    });
    const parts = events({ choices: [{ text: 'Yes' }], usage: null }, usage(1), usage(5), '[DONE]');
    const outcome = await outcomeOfReply({ model, stream: true }, streamed(parts), '/v1/completions');
    expect(outcome).toMatchObject({ model, prompt_tokens: 3, completion_tokens: 5, estimated: false });
  });

  it.each<[string, Buffer]>([
    ['is not JSON', whole(200, '{"usage":{"prompt_tokens":5')],
    ['counts nothing', whole(200, embeddings({ prompt_tokens: 0, total_tokens: 0 }))],
  ])('is estimated by the request when the reply %s', async (_, reply) => {
    const body = { model, input: 'x'.repeat(400) };
    const outcome = await outcomeOf(async request_id => {
      upstream.replyOnce(reply);
      const init = { ...embed, headers: { 'x-request-id': request_id, 'accept-encoding': 'identity' } };
      await (await gateway.post(body, init)).arrayBuffer().catch(() => {});
    });
    expect(outcome).toMatchObject({
      model,
      prompt_tokens: Math.ceil(JSON.stringify(body).length / 4),
      completion_tokens: 0,
      estimated: true,
      end_reason: 'completed',
    });
  });

  it('is asked for in encodings that are read and that the client accepts, and never in part', async () => {
    const asked = async (accepted: string, method = 'POST') => {
      upstream.replyOnce(whole(200, embeddings({ total_tokens: 5 })));
      const headers = {
        authorization: `Bearer ${clientKey}`,
        'accept-encoding': accepted,
        range: 'bytes=0-9',
        ...(method === 'POST' && { 'content-type': 'application/json' }),
      };
      const init = { method, headers, ...(method === 'POST' && { body: JSON.stringify({ model }) }) };
      await (await fetch(`${gateway.url}/v1/embeddings`, init)).arrayBuffer();
      return [upstream.last.headers['accept-encoding'], upstream.last.headers.range];
    };
    expect(await asked('zstd')).toEqual(['identity', undefined]);
    expect(await asked('zstd, GZIP;q=0.5, deflate')).toEqual(['gzip;q=0.5, deflate, identity', undefined]);
    expect(await asked('*;q=0.1, br;q=0')).toEqual(['gzip;q=0.1, deflate;q=0.1, identity', undefined]);
    expect(await asked('zstd', 'GET')).toEqual([expect.stringMatching(/^zstd/), 'bytes=0-9']);
  });

  it('is bounded by the context window, or by the bytes of the request where many texts exceed it', async () => {
    const claim = whole(200, embeddings({ prompt_tokens: 1e12, total_tokens: 1e12 }));
    const before = await gateway.metric('sluice_usage_bounded_total', { sluice_provider: 'upstream' });
    expect(await outcomeOfReply({ model }, claim)).toMatchObject({ prompt_tokens: 262_144 });
    const body = { model, input: ['y'.repeat(300_000)] };
    const bytes = JSON.stringify(body).length;
    expect(await outcomeOfReply(body, claim)).toMatchObject({ prompt_tokens: bytes });
    expect(await gateway.metric('sluice_usage_bounded_total', { sluice_provider: 'upstream' })).toBe(
      before + 2,
    );
  });

  it('is not counted when it is only shown again, as that of a batch', async () => {
    const outcome = await outcomeOf(async request_id => {
      upstream.replyOnce(whole(200, { model, usage: { input_tokens: 500, output_tokens: 5 } }));
      const headers = { authorization: `Bearer ${clientKey}`, 'x-request-id': request_id };
      await (await fetch(`${gateway.url}/v1/batches`, { headers })).arrayBuffer();
    });
    expect(outcome).toMatchObject({ prompt_tokens: 0, cost_usd: '0' });
  });
});

describe('a client that leaves a reply that is passed through', () => {
  const leave = (request_id: string, seen: string, path: string): Promise<void> => {
    const client = new RawConnection(gateway.url);
    client.write(requestOf({ model }, path, { 'x-request-id': request_id }));
    return until(() => client.text.includes(seen)).then(() => client.destroy());
  };

  it('pays for a whole reply, which is read to its end', async () => {
    const gone = Promise.withResolvers<void>();
    upstream.replyOnce(async socket => {
      socket.write(streamHead({ 'content-type': 'application/json' }) + chunk('{"data":[').toString());
      await gone.promise;
      socket.write(Buffer.concat([chunk('1],"usage":{"total_tokens":21}}'), Buffer.from(lastChunk)]));
    });
    const outcome = await outcomeOf(async request_id => {
      await leave(request_id, '"data"', '/v1/embeddings');
      await until(async () => (await gateway.metric('sluice_background_reads')) === 1);
      gone.resolve();
    });
    expect(outcome).toMatchObject({ end_reason: 'client_gone', prompt_tokens: 21, estimated: false });
  });

  it('pays for the last usage that a stream has told', async () => {
    const told = { choices: [{ text: 'Yes' }], usage: { prompt_tokens: 3, completion_tokens: 2 } };
    upstream.replyOnce(pieces([streamHead(), chunk(events(told))]));
    const outcome = await outcomeOf(request_id => leave(request_id, 'Yes', '/v1/completions'));
    expect(outcome).toMatchObject({ end_reason: 'client_gone', prompt_tokens: 3, completion_tokens: 2 });
    expect(await upstream.last.closed).toBe('gateway');
  });

  it('costs nothing when the upstream breaks off instead', async () => {
    upstream.replyOnce(
      thenReset(
        `${head(200, { 'content-type': 'application/json', 'content-length': 99 })}{"usage":{"total_tokens":5},`,
      ),
    );
    const outcome = await outcomeOf(async request_id => {
      const init = { ...embed, headers: { 'x-request-id': request_id } };
      await expect(gateway.post({ model }, init).then(reply => reply.text())).rejects.toThrow();
    });
    expect(outcome).toMatchObject({ end_reason: 'upstream_failed', prompt_tokens: 0 });
  });
});

let used = 0;
/** An account of this plan that has used nothing yet. */
async function limited(plan: Plan, of = gateway) {
  const authorization = `Bearer ${keyOf(plan, used++)}`;
  const cost = () => of.metric('sluice_cost_usd_total');
  const before_usd = await cost();
  return {
    headers: { authorization },
    post: (body: object, path: string) => of.post(body, { path, headers: { authorization } }),
    settled: () => until(() => of.gateway.inFlight === 0),
    usd: async () => (await cost()) - before_usd,
  };
}

describe('limits on tokens and money', () => {
  it.each<[Plan, RegExp]>([
    ['tokens', /^Daily token limit exceeded/],
    ['money', /^Monthly spending limit exceeded/],
  ])('refuse calls that are passed through once the limit on %s is used up', async (plan, message) => {
    const other = await limited(plan);
    upstream.replyOnce(whole(200, embeddings({ prompt_tokens: 21, total_tokens: 21 })));
    expect((await other.post({ model }, embed.path)).status).toBe(200);
    await other.settled();
    const refused = await expectRefusal(await other.post({ model }, embed.path), 429, 'rate_limit_error');
    expect(refused).toMatch(message);
  });
});

describe('hard limits on calls at once, of an account that has used nothing', () => {
  const held =
    /^Rate limit exceeded: running requests have reserved what is left of the monthly spending limit\. Retry when/;
  /** How many of ten calls are admitted before one of them has ended; each then uses the same. */
  const admitted = async (plan: Plan, path: string, body: object, of = gateway) => {
    const other = await limited(plan, of);
    const waiting: { write(bytes: Buffer): unknown }[] = [];
    let refused = 0;
    upstream.reply(socket => waiting.push(socket));
    const calls = Array.from({ length: 10 }, async () => {
      const response = await other.post({ model, ...body }, path);
      if (response.status === 200) return response.arrayBuffer();
      refused++;
      expect(response.headers.get('retry-after-ms')).toBe('1000');
      expect(await expectRefusal(response, 429, 'rate_limit_error')).toMatch(held);
    });
    await until(() => waiting.length + refused === 10);
    const usage = { prompt_tokens: 10, completion_tokens: 5000, total_tokens: 5010 };
    for (const socket of waiting) socket.write(whole(200, { model, choices: [], usage }));
    await Promise.all(calls);
    await other.settled();
    upstream.reply(whole(200, {}));
    return { count: waiting.length, usd: await other.usd(), other };
  };

  it.each<[string, Plan, string, object, number]>([
    // A completion may cost 0.197 dollars: two of them fit, and one has what is left.
    ['the most that a completion may cost', 'half', '/v1/completions', {}, 3],
    ['all of a limit that is less than that', 'cents', '/v1/completions', {}, 1],
    ['the price of the bytes of what is only read', 'cents', '/v1/embeddings', {}, 10],
    // A long text may cost 0.015 dollars.
    ['the price of many bytes of it', 'cents', '/v1/embeddings', { input: 'x'.repeat(10_000) }, 4],
    ['nothing of what only stores', 'cents', '/v1/batches', {}, 10],
    ['no more than an estimate if they are not hard', 'soft', '/v1/completions', {}, 10],
  ])('reserve %s', async (_, plan, path, body, count) => {
    expect(await admitted(plan, path, body)).toMatchObject({ count });
  });

  it('reserve no more in a store that answers later', async () => {
    const memory = new MemoryStateStore();
    const state: StateStore = {
      reserve: async request => memory.reserve(request),
      statuses: async (account, limits) => memory.statuses(account, limits),
      knownStatuses: () => [],
      close: async () => {},
    };
    const later = await startGateway({ upstream, config, options: { state } });
    others.push(later);
    const { count } = await admitted('cents', '/v1/completions', {}, later);
    expect(count).toBe(1);
  });

  it('give back what a call has not used', async () => {
    const { other, usd } = await admitted('cents', '/v1/completions', {});
    expect(usd).toBeCloseTo(0.03003, 5);
    upstream.replyOnce(whole(200, { usage: { prompt_tokens: 1, completion_tokens: 5000 } }));
    expect((await other.post({ model }, '/v1/completions')).status).toBe(200);
    await other.settled();
    const refused = await other.post({ model }, '/v1/completions');
    expect(await expectRefusal(refused, 429, 'rate_limit_error')).toMatch(/^Monthly spending limit exceeded/);
  });
});

describe('a call that hides what it uses', () => {
  const text = 'The river bends because its outer bank is worn away. '.repeat(4);
  const said = { choices: [{ index: 0, text }] };
  const completed = { ...said, usage: { prompt_tokens: 9, completion_tokens: 40, total_tokens: 49 } };
  const packed = (bytes: Buffer, encoding: string) => whole(200, bytes, { 'content-encoding': encoding });

  it.each<[string, object, Script]>([
    ['by zstd', {}, packed(zstdCompressSync(JSON.stringify(completed)), 'zstd')],
    ['by a stream without usage', { stream: true }, streamed(events(said, '[DONE]'))],
    [
      'by the usage of its prompt alone',
      {},
      whole(200, { ...said, usage: { prompt_tokens: 1, completion_tokens: 0 } }),
    ],
    ['by no model anywhere', { model: undefined }, whole(200, completed)],
    ['by neither a model nor usage', { model: undefined }, whole(200, said)],
    [
      'by a stream that is cut before its usage',
      { stream: true },
      thenReset(streamHead(), chunk(events(said))),
    ],
  ])('%s has used up its limit nevertheless', async (_, body, reply) => {
    const other = await limited('money');
    upstream.replyOnce(reply);
    const path = '/v1/completions';
    const response = await other.post({ model, prompt: text, ...body }, path);
    expect(response.status).toBe(200);
    await response.arrayBuffer().catch(() => {});
    await other.settled();
    const refused = await expectRefusal(await other.post({ model }, path), 429, 'rate_limit_error');
    expect(refused).toMatch(/^Monthly spending limit exceeded/);
    expect(await other.usd()).toBeLessThan(0.002);
  });

  it.each([
    ['before the reply', '', /^$/],
    ['in a stream, before its usage', streamHead() + chunk(events(said)).toString(), /river/],
  ])('by leaving %s has used up its limit nevertheless', async (_, begun, seen) => {
    const other = await limited('money');
    const asked = upstream.requests.length;
    upstream.replyOnce(pieces([begun]));
    const client = new RawConnection(gateway.url);
    client.write(requestOf({ model, prompt: text, stream: true }, '/v1/completions', other.headers));
    await until(() => upstream.requests.length > asked && seen.test(client.text));
    client.destroy();
    await other.settled();
    await expectRefusal(await other.post({ model }, '/v1/completions'), 429, 'rate_limit_error');
  });

  it('with a form pays for the model that the form names, also behind its file', async () => {
    const form = new FormData();
    form.append('file', new Blob([randomBytes(100_000)]), 'speech.mp3');
    form.append('model', model);
    const outcome = await outcomeOf(async request_id => {
      upstream.replyOnce(whole(200, text, { 'content-type': 'text/plain' }));
      const headers = { authorization: `Bearer ${clientKey}`, 'x-request-id': request_id };
      await (await fetch(`${gateway.url}/v1/completions`, { method: 'POST', headers, body: form })).text();
    });
    expect(outcome).toMatchObject({ model, prompt_tokens: 101, completion_tokens: 42, estimated: true });
  });

  it.each([
    ['an upload', '/v1/batches', { model: undefined, cost_usd: '0', prompt_tokens: 0 }],
    ['a completion', '/v1/completions', { model, estimated: true }],
  ])('costs what %s without a model and usage does', async (_, path, expected) => {
    expect(await outcomeOfReply({ input: text }, whole(200, { id: 'x' }), path)).toMatchObject(expected);
  });
});

it('counts tokens, cost and the operation of what is passed through in the metrics', async () => {
  const other = await startGateway({ upstream, config });
  others.push(other);
  upstream.replyOnce(whole(200, embeddings({ prompt_tokens: 21, total_tokens: 21 })));
  await (await other.post({ model }, embed)).text();
  upstream.replyOnce(whole(200, { usage: { prompt_tokens: 1, completion_tokens: 2 } }));
  await (await other.post({ model }, { path: '/v1/completions' })).text();
  await until(() => other.gateway.inFlight === 0);
  const text = await other.metrics();
  const of = (name: string, labels: Record<string, string>) =>
    sumOf(text, name, { gen_ai_request_model: model, ...labels });
  expect(of('sluice_tokens_total', { kind: 'input', source: 'exact' })).toBe(22);
  expect(of('sluice_cost_usd_total', {})).toBeCloseTo((3 * 22 + 6 * 2) / 1e6, 12);
  expect(
    of('gen_ai_client_token_usage_sum', { gen_ai_operation_name: 'embeddings', gen_ai_token_type: 'input' }),
  ).toBe(21);
  expect(
    of('gen_ai_client_operation_duration_seconds_count', { gen_ai_operation_name: 'text_completion' }),
  ).toBe(1);
});
