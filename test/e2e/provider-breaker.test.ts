import { afterEach, expect, it } from '@jest/globals';
import { allWell, answering, askedOf, expectAnswerOf, openProviders } from '../support/failover-setting.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { whole } from '../support/scripted-upstream.ts';
import { type Books, closeBalanced } from '../support/settlement.ts';

afterEach(closeBalanced);

const breaker = { consecutive_failures: 3, open_ms: 400, max_open_ms: 400, probes: 2, ramp_ms: 0 };
const states = ['closed', 'open', 'half_open'];

const ofFirst = async ({ gateway }: Books, metric: string): Promise<number[]> => {
  const labels = { sluice_provider: 'upstream' };
  return Promise.all(states.map(state => gateway.metric(metric, { ...labels, state })));
};
const stateOf = async (books: Books) => states[(await ofFirst(books, 'sluice_breaker_state')).indexOf(1)];

it('the circuit breaker of a provider opens after failures, probes the provider, and closes when it recovers', async () => {
  const clock = new FakeClock();
  const books = await openProviders(2, { providers: [{ breaker }], options: { clock } });
  allWell(books);
  books.upstream.reply(whole(500, { error: { message: 'no' } }));
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
  expect(await ofFirst(books, 'sluice_breaker_transitions_total')).toEqual([1, 1, 1]);
});
