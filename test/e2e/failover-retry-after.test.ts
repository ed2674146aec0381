import { afterEach, describe, expect, it } from '@jest/globals';
import {
  allWell,
  askedOf,
  expectAnswerOf,
  expectNothing,
  openProviders,
} from '../support/failover-setting.ts';
import { bothWays } from '../support/hostile-setting.ts';
import { whole } from '../support/scripted-upstream.ts';
import { closeBalanced } from '../support/settlement.ts';
import { until } from '../support/until.ts';

afterEach(closeBalanced);

const busy = (seconds: string, header = 'retry-after') =>
  whole(429, { error: { message: 'no' } }, { [header]: seconds });

describe('an upstream that sends Retry-After', () => {
  it.each([
    ['seconds', busy('2')],
    ['milliseconds', busy('1500', 'retry-after-ms')],
    ['a date', () => busy(new Date(Date.now() + 2500).toUTCString())],
    ['503', () => whole(503, '', { 'retry-after': '2' })],
  ])('is not tried before that time (%s)', async (_, script) => {
    const books = await openProviders(2);
    allWell(books);
    books.upstream.replyOnce(typeof script === 'function' ? script() : script);
    const begun_ms = Date.now();
    const sent = await books.send(true);
    expect(sent.outcome).toMatchObject({ provider: 'second', attempts: { length: 2 } });
    expectAnswerOf(2, await books.send(false), []);
    expect(askedOf(books)).toEqual([1, 2]);
    await until(async () => (await books.send(false)).outcome.provider === 'upstream');
    expect(Date.now() - begun_ms).toBeGreaterThan(1000);
  });

  it('is still tried for other models, which may have limits of their own', async () => {
    const books = await openProviders(2);
    allWell(books);
    books.upstream.replyOnce(busy('60'));
    await books.send(false);
    expectAnswerOf(1, await books.send(false, { model: 'aion-labs/aion-3.5-mini' }), []);
    expectAnswerOf(2, await books.send(false), []);
  });
});

describe.each(bothWays)('routing while every upstream is paused ($way)', ({ stream }) => {
  it('tries the upstream whose pause ends first', async () => {
    const books = await openProviders(2);
    allWell(books);
    books.upstream.replyOnce(busy('60'));
    books.upstreams[1]!.replyOnce(busy('30'));
    expectNothing(await books.send(stream), 502, 'provider_error');
    expectAnswerOf(2, await books.send(stream), []);
    expect(askedOf(books)).toEqual([1, 2]);
  });

  it('refuses with Retry-After when when_all_unavailable is refuse', async () => {
    const books = await openProviders(2, { config: { routing: { when_all_unavailable: 'refuse' } } });
    allWell(books);
    books.upstream.replyOnce(busy('60'));
    books.upstreams[1]!.replyOnce(busy('30'));
    expectNothing(await books.send(stream), 502, 'provider_error');
    const sent = await books.send(stream);
    expectNothing(sent, 502, 'provider_error');
    expect(Number(sent.reply.headers.get('retry-after'))).toBeGreaterThan(20);
    expect(Number(sent.reply.headers.get('retry-after'))).toBeLessThanOrEqual(30);
    expect(sent.outcome).toMatchObject({
      end_reason: 'refused',
      attempts: { length: 0 },
      provider: undefined,
    });
    expect(askedOf(books)).toEqual([1, 1]);
  });
});

describe.each(bothWays)('a retry at the same upstream ($way)', ({ stream }) => {
  it('waits for its Retry-After', async () => {
    const books = await openProviders(1, { config: { routing: { retries_per_upstream: 1 } } });
    allWell(books);
    books.upstream.replyOnce(busy('1'));
    const sent = await books.send(stream);
    expectAnswerOf(1, sent, ['upstream: rate_limited']);
    expect(sent.outcome.timings.duration_ms).toBeGreaterThan(950);
    expect(sent.outcome.timings.upstream_wait_ms).toBeGreaterThan(950);
    expect(await books.gateway.metric('sluice_failovers_total', { from: 'upstream', to: 'upstream' })).toBe(
      1,
    );
  });

  it('waits for a random backoff, follows only when all others have failed, and is limited by retries_per_upstream', async () => {
    const routing = { retries_per_upstream: 1, max_attempts: 9, backoff_ms: 200 };
    const books = await openProviders(2, { config: { routing } });
    const no = whole(500, { error: { message: 'no' } });
    const order: string[] = [];
    for (const [at, upstream] of books.upstreams.entries())
      upstream.reply(socket => {
        order.push(`${at}`);
        socket.write(no);
      });
    expectNothing(await books.send(stream), 502, 'provider_error');
    expect(order.slice(0, 2)).toEqual(['0', '1']);
    expect(order.slice(2).toSorted()).toEqual(['0', '1']);
  });

  it('is not made when its Retry-After exceeds the time limit of the request', async () => {
    const books = await openProviders(1, {
      config: { routing: { retries_per_upstream: 1 } },
      server: { stream_commit_ms: 500, non_stream_timeout_ms: 500 },
    });
    books.upstream.reply(busy('2'));
    const sent = await books.send(stream);
    expectNothing(sent, 502, 'provider_error');
    expect(sent.reply.headers.get('retry-after')).toBe('2');
    expect(sent.outcome.timings.duration_ms).toBeLessThan(1900);
    expect(await books.gateway.metric('sluice_retries_denied_total', { reason: 'time' })).toBe(1);
  });
});
