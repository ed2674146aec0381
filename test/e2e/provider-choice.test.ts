import { afterEach, describe, expect, it } from '@jest/globals';
import { allWell, answering, askedOf, openProviders } from '../support/failover-setting.ts';
import { type Books, closeBalanced } from '../support/settlement.ts';

afterEach(closeBalanced);

const together = [{ priority: 1 }, { priority: 1 }, { priority: 1 }];

/** Sends `count` requests, some at a time, each of another conversation unless `more` says otherwise. */
async function sendMany(
  books: Books,
  count: number,
  at_a_time = 10,
  more: (n: number) => object = said,
): Promise<void> {
  let next = 0;
  const sender = async () => {
    while (next < count) {
      const n = next++;
      const { outcome } = await books.send(n % 2 === 0, more(n));
      expect(outcome).toMatchObject({ end_reason: 'completed', attempts: { length: 1 } });
    }
  };
  await Promise.all(Array.from({ length: at_a_time }, sender));
}

const said = (n: number) => ({ messages: [{ role: 'user', content: `Conversation ${n}` }] });

describe('sticky: conversation', () => {
  it('keeps all turns of a conversation at one upstream and spreads conversations over all', async () => {
    const books = await openProviders(3, {
      standings: together,
      config: { routing: { sticky: 'conversation' } },
    });
    allWell(books);
    const at: Record<string, Set<number>> = {};
    for (const [number, upstream] of books.upstreams.entries())
      upstream.reply((socket, request) => {
        const [first] = request.body.messages as { content: string }[];
        (at[first!.content] ??= new Set()).add(number);
        (answering(number + 1) as (...args: unknown[]) => unknown)(socket, request);
      });
    const turn = (n: number) => {
      const [first] = said(n % 30).messages;
      const later =
        n < 30
          ? []
          : [
              { role: 'assistant', content: 'Yes.' },
              { role: 'user', content: `Turn ${n}` },
            ];
      return { messages: [first, ...later] };
    };
    // Few at a time, so that nobody is overloaded.
    await sendMany(books, 90, 3, turn);
    expect(Object.keys(at).length).toBe(30);
    expect(Object.values(at).filter(({ size }) => size !== 1)).toEqual([]);
    for (const count of askedOf(books)) expect(count).toBeGreaterThan(8);
  });
});
