import { afterEach, describe, expect, it } from '@jest/globals';
import {
  allWell,
  answering,
  askedOf,
  expectAnswerOf,
  expectNothing,
  openProviders,
} from '../support/failover-setting.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { said } from '../support/hostile-setting.ts';
import { chunk, events, streamHead, thenReset, whole } from '../support/scripted-upstream.ts';
import { type Books, closeBalanced } from '../support/settlement.ts';
import { until } from '../support/until.ts';

afterEach(closeBalanced);

const no = whole(500, { error: { message: 'no' } });
const breaker = { consecutive_failures: 3, open_ms: 400, max_open_ms: 400, probes: 2, ramp_ms: 0 };

/** Two providers, the first with the breaker above, and the clock it goes by. */
async function openPair() {
  const clock = new FakeClock();
  const books = await openProviders(2, { providers: [{ breaker }], options: { clock } });
  allWell(books);
  return { books, clock };
}

const stateOf = async ({ gateway }: Books, provider = 'upstream') => {
  for (const state of ['closed', 'open', 'half_open']) {
    const labels = { sluice_provider: provider, state };
    if ((await gateway.metric('sluice_breaker_state', labels)) === 1) return state;
  }
  return undefined;
};

const changes = ({ gateway }: Books, state: string) =>
  gateway.metric('sluice_breaker_transitions_total', { sluice_provider: 'upstream', state });

describe('the circuit breaker of a provider', () => {
  it('opens after failures, probes the provider, and closes when it recovers', async () => {
    const { books, clock } = await openPair();
    books.upstream.reply(no);
    for (let count = 0; count < 3; count++) expectAnswerOf(2, await books.send(false), ['upstream: status']);
    expect(await stateOf(books)).toBe('open');
    for (let count = 0; count < 5; count++) expectAnswerOf(2, await books.send(count % 2 === 0), []);
    expect(askedOf(books)).toEqual([3, 8]);

    books.upstream.reply(answering(1));
    clock.advance(breaker.open_ms);
    expect(await stateOf(books)).toBe('half_open');
    for (let count = 0; count < 2; count++) expectAnswerOf(1, await books.send(true), []);
    expect(await stateOf(books)).toBe('closed');
    expectAnswerOf(1, await books.send(false), []);
    expect([
      await changes(books, 'open'),
      await changes(books, 'half_open'),
      await changes(books, 'closed'),
    ]).toEqual([1, 1, 1]);
  });

  it('opens after streams that break off in their middle', async () => {
    const { books } = await openPair();
    books.upstream.reply(thenReset(streamHead(), chunk(events(said('Once')))));
    for (let count = 0; count < 3; count++)
      expect((await books.send(true)).outcome.end_reason).toBe('upstream_failed');
    expect(await stateOf(books)).toBe('open');
  });

  it('stays closed when clients leave', async () => {
    const books = await openProviders(1, { provider: { breaker } });
    books.upstream.reply(() => {});
    for (let count = 1; count < 6; count++) {
      const asked = books.ask({ stream: true });
      await until(() => books.upstream.requests.length === count);
      asked.connection.destroy();
      await asked.settled();
    }
    expect(await stateOf(books)).toBe('closed');
  });
});

describe('the only provider of a model', () => {
  it('is asked although its circuit breaker is open, and recovers at once', async () => {
    const books = await openProviders(1, {
      provider: { breaker: { ...breaker, open_ms: 60_000, max_open_ms: 60_000 } },
    });
    books.upstream.reply(no);
    for (let count = 0; count < 5; count++) expectNothing(await books.send(false), 502, 'provider_error');
    expect(askedOf(books)).toEqual([5]);
    expect(await stateOf(books)).toBe('open');
    books.upstream.reply(answering(1));
    for (let count = 0; count < 3; count++) expectAnswerOf(1, await books.send(false), []);
    expect(await stateOf(books)).toBe('closed');
  });

  it('is skipped when configured so, and clients get Retry-After', async () => {
    const books = await openProviders(1, {
      provider: { breaker: { ...breaker, open_ms: 60_000, max_open_ms: 60_000 } },
      config: { routing: { when_all_unavailable: 'refuse' } },
    });
    books.upstream.reply(no);
    for (let count = 0; count < 3; count++) await books.send(false);
    const sent = await books.send(false);
    expectNothing(sent, 502, 'provider_error');
    expect(Number(sent.reply.headers.get('retry-after'))).toBeGreaterThan(25);
    expect(askedOf(books)).toEqual([3]);
  });
});
