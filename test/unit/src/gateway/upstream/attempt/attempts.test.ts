import { afterEach, describe, expect, it } from '@jest/globals';
import { Registry } from 'prom-client';
import type { GatewayError } from '../../../../../../src/gateway/exchange/errors.ts';
import { Attempts } from '../../../../../../src/gateway/upstream/attempt/attempts.ts';
import { Metrics } from '../../../../../../src/telemetry/metrics.ts';
import { ThrottledLog } from '../../../../../../src/telemetry/throttled-log.ts';
import { capturedLog } from '../../../../../support/captured-log.ts';
import {
  type ScriptedUpstream,
  startScriptedUpstream,
  thenReset,
  whole,
} from '../../../../../support/scripted-upstream.ts';
import { sampleExchange } from '../../../../sample-exchange.ts';
import { closeRoutes, fill, open, pause, routeOver } from '../sample-route.ts';

const servers: ScriptedUpstream[] = [];
afterEach(async () => {
  await closeRoutes();
  await Promise.all(servers.splice(0).map(server => server.close()));
});

const limits = { stream_commit_ms: 10_000, non_stream_timeout_ms: 60_000 };

function attemptsOver(...asked: Parameters<typeof routeOver>) {
  const setting = routeOver(...asked);
  const { log, lines } = capturedLog();
  const exchange = sampleExchange({ request: {}, start: { clock: setting.clock, log } });
  const registry = new Registry();
  const metrics = new Metrics(registry);
  const outages = new ThrottledLog<string>(setting.clock);
  const attempts = new Attempts(exchange, setting.route, { metrics, outages, limits });
  const refusal = (): Promise<GatewayError> =>
    attempts.reply().then(
      () => Promise.reject(new Error('it was answered')),
      (error: GatewayError) => error,
    );
  return { ...setting, exchange, attempts, refusal, registry, metrics, outages, log, lines };
}

describe('a refusal because no upstream is available', () => {
  it.each([
    [3, 0, '3'],
    [3, 1900, '2'],
    [3, 2000, '1'],
    [3, 2999, '1'],
  ])(
    'has, with a Retry-After of %i s and after %i ms, a Retry-After of %s s',
    async (given_s, passed_ms, told) => {
      const { a, b, clock, refusal, exchange } = attemptsOver([{}, {}], { when_all_unavailable: 'refuse' });
      pause(a, given_s, clock);
      pause(b, 60, clock);
      clock.advance(passed_ms);
      expect(await refusal()).toMatchObject({
        code: 'provider_unreachable',
        headers: { 'retry-after': told },
      });
      expect([exchange.end_reason, exchange.attempts]).toEqual(['refused', []]);
    },
  );

  it('has a Retry-After of a second where the time is unknown', async () => {
    const { a, refusal } = attemptsOver([{}], { when_all_unavailable: 'refuse' });
    Object.defineProperty(a.provider, 'healthy', { value: false });
    expect(await refusal()).toMatchObject({
      code: 'provider_unreachable',
      headers: { 'retry-after': '1' },
    });
  });
});

it('refuses without Retry-After when all upstreams are full, and counts that', async () => {
  const { a, refusal, exchange, registry } = attemptsOver([{ provider: { max_concurrent: 1 } }]);
  fill(a);
  expect(await refusal()).toMatchObject({ type: 'server_error', headers: {} });
  expect(exchange.end_reason).toBe('refused');
  expect(await registry.metrics()).toContain(
    'sluice_overload_refusals_total{gen_ai_request_model="_other"} 1',
  );
});

it('acquires no permit when the exchange was aborted before', async () => {
  const { a, attempts, refusal, exchange } = attemptsOver([{}]);
  open(a);
  exchange.abort('client_gone');
  attempts.cancel();
  expect(await refusal()).toMatchObject({ type: 'server_error' });
  expect([a.provider.bulkhead.in_flight, attempts.ended]).toEqual([0, true]);
});

describe('the failover after a failed attempt', () => {
  const text = {
    choices: [{ index: 0, message: { role: 'assistant', content: 'Yes.' }, finish_reason: 'stop' }],
  };
  const answer = whole(200, text);

  /** Upstreams in the order of their priority, each of which answers as scripted. */
  async function failover(
    scripts: Parameters<typeof startScriptedUpstream>[0][],
    options: object = {},
    keys: object = {},
  ) {
    const started = await Promise.all(scripts.map(script => startScriptedUpstream(script)));
    servers.push(...started);
    const given = started.map(({ url }, at) => ({ priority: at, provider: { base_url: url, ...keys } }));
    const setting = attemptsOver(given, options);
    const metric = async (name: string) =>
      (await setting.registry.getSingleMetric(name)!.get()).values.map(({ labels, value }) => ({
        ...labels,
        value,
      }));
    /** The reply to another exchange over the same upstreams. */
    const ask = () => {
      const { route, clock, log, metrics, outages } = setting;
      const exchange = sampleExchange({ request: {}, start: { clock, log } });
      return new Attempts(exchange, route, { metrics, outages, limits }).reply();
    };
    return { ...setting, metric, ask, requests: () => started.map(({ requests }) => requests.length) };
  }

  it('goes to the next upstream, and is counted', async () => {
    const { attempts, exchange, requests, metric } = await failover([whole(500, {}), answer]);
    expect(await attempts.reply()).toMatchObject(text);
    expect(requests()).toEqual([1, 1]);
    expect([exchange.provider, exchange.end_reason]).toEqual(['b', undefined]);
    expect(exchange.attempts).toMatchObject([
      { provider: 'a', status: 500, outcome: 'failed', kind: 'status', wait_ms: 0 },
      { provider: 'b', status: 200, outcome: 'completed', kind: undefined, wait_ms: 0 },
    ]);
    expect(await metric('sluice_failovers_total')).toEqual([
      { from: 'a', to: 'b', kind: 'status', value: 1 },
    ]);
  });

  const part = 'HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{"cho';
  it.each([
    ['the request is refused', whole(400, {}), 'refused'],
    ['part of the reply has arrived', thenReset(part), 'upstream_failed'],
  ])('does not happen when %s', async (_, script, end_reason) => {
    const { refusal, exchange, requests } = await failover([script, answer]);
    await refusal();
    expect([requests(), exchange.end_reason]).toEqual([[1, 0], end_reason]);
  });

  it.each([
    [500, 401],
    [401, 500],
  ])(
    'ends with the error of a provider that failed, not of a misconfigured one: %i, then %i',
    async (one, other) => {
      const { refusal, exchange } = await failover([whole(one, {}), whole(other, {})]);
      expect(await refusal()).toMatchObject({ type: 'provider_error' });
      expect(exchange.attempts).toHaveLength(2);
    },
  );

  it.each([[401], [401, 404], [500, 500]])(
    'is recorded as a failure of the upstream where the attempts end with %i and %i',
    async (...statuses) => {
      const { refusal, exchange } = await failover(statuses.map(status => whole(status, {})));
      await refusal();
      expect([exchange.attempts.length, exchange.end_reason]).toEqual([statuses.length, 'upstream_failed']);
    },
  );

  const busy = whole(503, {}, { 'retry-after': '600' });
  const broken = whole(500, {});
  const none = { retry_ratio: 0, min_retries_per_second: 0 };
  it.each<[string, ReturnType<typeof whole>[], object, number[], string]>([
    ['at max_attempts', [broken, broken, answer], { max_attempts: 2 }, [1, 1, 0], 'attempts'],
    ['at the retry budget', [broken, answer], none, [1, 0], 'budget'],
    ['at the last upstream', [broken, broken], {}, [1, 1], 'upstreams'],
    ['where the upstream asks for more time than there is', [busy], { retries_per_upstream: 1 }, [1], 'time'],
  ])('stops %s, and counts that', async (_, scripts, options, asked, reason) => {
    const { refusal, requests, metric } = await failover(scripts, options);
    const headers = reason === 'time' ? { 'retry-after': '600' } : {};
    expect(await refusal()).toMatchObject({ type: 'provider_error', headers });
    expect(requests()).toEqual(asked);
    expect(await metric('sluice_retries_denied_total')).toMatchObject([{ reason, value: 1 }]);
  });

  it('retries the only upstream with each of its other keys', async () => {
    const { refusal, requests } = await failover([whole(401, {})], {}, { api_keys: ['one', 'two'] });
    expect(await refusal()).toMatchObject({ type: 'configuration_error' });
    expect(requests()).toEqual([2]);
    expect(servers[0]!.requests.map(({ headers }) => headers.authorization)).toEqual([
      'Bearer one',
      'Bearer two',
    ]);
  });

  it('has as many attempts as it may beside one that was sent again on a new connection', async () => {
    const { ask, requests } = await failover([answer, answer], { max_attempts: 2 });
    await ask();
    // Its connection is free for the next request a turn after the reply.
    await new Promise(resolve => setImmediate(resolve));
    servers[0]!.replyOnce(socket => socket.resetAndDestroy());
    servers[0]!.replyOnce(broken);
    expect(await ask()).toMatchObject(text);
    expect(requests()).toEqual([3, 1]);
  });

  it('is logged once in ten seconds for each provider, kind and status', async () => {
    const busy = (status: number) => whole(status, { error: { message: 'busy' } });
    const { ask, lines } = await failover([busy(529), answer]);
    for (const status of [503, 503]) servers[0]!.replyOnce(busy(status));
    for (const lines_so_far of [1, 1, 2]) {
      await ask();
      expect(lines.map(({ msg }) => msg)).toEqual(Array(lines_so_far).fill('attempt failed, retrying'));
    }
    expect(lines.map(({ err }) => (err as { message: string }).message)).toEqual([
      'upstream status 503: busy',
      'upstream status 529: busy',
    ]);
  });
});
