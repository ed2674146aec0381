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
function held(n: number): { script: Script; release: () => void } {
  const waiting: (() => void)[] = [];
  return {
    script: (socket, { body }) => waiting.push(() => socket.write(goodAnswer(n, body.stream === true))),
    release: () => waiting.shift()?.(),
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
    release();
    expectAnswerOf(1, await second, []);
    // It is free again.
    books.upstream.reply(answering(1));
    expectAnswerOf(1, await books.send(stream), []);
    expect(await queued(books)).toBe(0);
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

  it('counts a reply that is read on after 524 until the reply has ended', async () => {
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
});
