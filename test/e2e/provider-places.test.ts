import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from '@jest/globals';
import {
  allWell,
  answering,
  askedOf,
  expectAnswerOf,
  expectNothing,
  type FleetOverrides,
  goodAnswer,
  openProviders,
} from '../support/failover-setting.ts';
import type { Script } from '../support/scripted-upstream.ts';
import { type Books, closeBalanced } from '../support/settlement.ts';
import { until } from '../support/until.ts';

afterEach(closeBalanced);

/** Answers when the test says so, first come first served. */
function held(n: number): { script: Script; release: () => void; waiting: () => number } {
  const waiting: (() => void)[] = [];
  return {
    script: (socket, { body }) => waiting.push(() => socket.write(goodAnswer(n, body.stream === true))),
    release: () => waiting.shift()?.(),
    waiting: () => waiting.length,
  };
}

const capped = (fields: object, more: FleetOverrides = {}): FleetOverrides => ({
  providers: [{ max_concurrent: 1, ...fields }],
  ...more,
});

const queued = ({ gateway }: Books) =>
  gateway.metric('sluice_provider_queued', { sluice_provider: 'upstream' });

describe('a provider at its concurrency limit', () => {
  const stream = true;

  it('is skipped', async () => {
    const books = await openProviders(2, capped({}));
    const { script, release } = held(1);
    allWell(books);
    books.upstream.reply(script);
    const first = books.send(stream);
    await until(() => books.upstream.requests.length === 1);
    expectAnswerOf(2, await books.send(stream), []);
    release();
    expectAnswerOf(1, await first, []);
    books.upstream.reply(answering(1));
    expectAnswerOf(1, await books.send(stream), []);
    expect(askedOf(books)).toEqual([2, 1]);
  });

  it('gets requests from its queue when it has one', async () => {
    const books = await openProviders(2, capped({ max_queue: 1, queue_timeout_ms: 10_000 }));
    const { script, release } = held(1);
    allWell(books);
    books.upstream.reply(script);
    const first = books.send(stream);
    await until(() => books.upstream.requests.length === 1);
    const second = books.send(stream);
    await until(async () => (await queued(books)) === 1);
    // The queue is full as well.
    expectAnswerOf(2, await books.send(stream), []);
    expect(askedOf(books)).toEqual([1, 1]);
    release();
    expectAnswerOf(1, await first, []);
    await until(() => books.upstream.requests.length === 2);
    await sleep(60);
    release();
    const sent = await second;
    expectAnswerOf(1, sent, []);
    expect(sent.outcome.timings.upstream_wait_ms).toBeGreaterThan(55);
    expect(await queued(books)).toBe(0);
  });

  it('keeps a request in its queue no longer than the queue time', async () => {
    const books = await openProviders(2, capped({ max_queue: 9, queue_timeout_ms: 100 }));
    allWell(books);
    const { script, release } = held(1);
    books.upstream.reply(script);
    const first = books.send(stream);
    await until(() => books.upstream.requests.length === 1);
    expectAnswerOf(2, await books.send(stream), []);
    release();
    expectAnswerOf(1, await first, []);
    expect(await books.gateway.metric('sluice_provider_queue_seconds_count', { outcome: 'late' })).toBe(1);
  });

  it('answers 502 server_error with Retry-After at once when it is the only one without a queue', async () => {
    const books = await openProviders(1, capped({}));
    const { script, release } = held(1);
    books.upstream.reply(script);
    const first = books.send(stream);
    await until(() => books.upstream.requests.length === 1);
    const sent = await books.send(stream);
    expectNothing(sent, 502, 'server_error');
    expect(sent.reply.headers.get('retry-after')).toBe('1');
    expect(sent.outcome).toMatchObject({
      end_reason: 'refused',
      attempts: { length: 0 },
      provider: undefined,
    });
    expect(await books.gateway.metric('sluice_overload_refusals_total')).toBe(1);
    release();
    expectAnswerOf(1, await first, []);
  });

  it('drops a queued request whose client has left', async () => {
    const books = await openProviders(1, capped({ max_queue: 5, queue_timeout_ms: 60_000 }));
    const { script, release, waiting } = held(1);
    books.upstream.reply(script);
    const first = books.send(stream);
    await until(() => waiting() === 1);
    // A whole reply would be read on for the bill, but nothing of it has begun.
    const leaving = books.ask({ stream });
    await until(async () => (await queued(books)) === 1);
    leaving.connection.destroy();
    const outcome = await leaving.settled();
    expect(outcome).toMatchObject({ end_reason: 'client_gone', attempts: { length: 0 }, cost_usd: '0' });
    release();
    expectAnswerOf(1, await first, []);
    expect(await queued(books)).toBe(0);
    expect(await books.gateway.metric('sluice_provider_in_flight')).toBe(0);
  });
});

it('does not use a permit that is freed after the circuit breaker opened', async () => {
  const breaker = { consecutive_failures: 1, open_ms: 60_000, max_open_ms: 60_000 };
  const books = await openProviders(2, capped({ max_queue: 5, queue_timeout_ms: 10_000, breaker }));
  allWell(books);
  let fail = () => {};
  books.upstream.reply(socket => void (fail = () => socket.resetAndDestroy()));
  const first = books.send(false);
  await until(() => books.upstream.requests.length === 1);
  const waiting = [books.send(true), books.send(false)];
  await until(async () => (await queued(books)) === 2);
  fail();
  expectAnswerOf(2, await first, ['upstream: unreachable']);
  for (const sent of await Promise.all(waiting)) expectAnswerOf(2, sent, []);
  expect(askedOf(books)).toEqual([1, 3]);
});

it('releases the permit of a stream whose client left', async () => {
  const books = await openProviders(1, capped({}));
  const { script } = held(1);
  books.upstream.reply(script);
  const asked = books.ask({ stream: true });
  await until(() => books.upstream.requests.length === 1);
  asked.connection.destroy();
  await asked.settled();
  books.upstream.reply(answering(1));
  expectAnswerOf(1, await books.send(true), []);
});

it('holds the permit of a reply that is read on after 524 until the reply has ended', async () => {
  const books = await openProviders(1, capped({}, { server: { non_stream_timeout_ms: 500 } }));
  const { script, release } = held(1);
  books.upstream.reply(script);
  const asked = books.ask();
  await asked.connection.received(/^HTTP\/1.1 524 /);
  expectNothing(await books.send(true), 502, 'server_error');
  release();
  await asked.settled();
  books.upstream.reply(answering(1));
  expectAnswerOf(1, await books.send(true), []);
});
