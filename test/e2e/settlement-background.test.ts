import { afterEach, describe, expect, it } from '@jest/globals';
import type { UpstreamRequest } from '../support/scripted-upstream.ts';
import { type Asked, type Books, closeBalanced, openBooks } from '../support/settlement.ts';
import { expectBilled, usageKinds, wholeReplyOf } from '../support/settlement-answer.ts';
import { until } from '../support/until.ts';

afterEach(closeBalanced);

const [kind] = usageKinds;
const reads = (books: Books) => books.gateway.metric('sluice_background_reads');

/** How a client may give up a reply that is then read on for its bill alone. */
const givingUp = [
  { how: 'answered 524', server: { non_stream_timeout_ms: 500 }, end_reason: 'time_limit', status: 524 },
  { how: 'left', server: {}, end_reason: 'client_gone', status: 0 },
] as const;
type GivingUp = (typeof givingUp)[number];

/** Sends a request that the upstream does not answer, and gives it up. */
async function giveUp(books: Books, { how }: GivingUp): Promise<Asked> {
  const { upstream } = books;
  const before = upstream.requests.length;
  const asked = books.ask();
  await until(() => upstream.requests.length === before + 1);
  if (how === 'left') asked.connection.destroy();
  else await asked.connection.received(/^HTTP\/1\.1 524 [\s\S]*\}$/);
  return asked;
}

describe.each(givingUp)('background reads of replies whose client has $how', manner => {
  const { server, end_reason, status } = manner;
  const ended = { end_reason, status, attempts: { length: 1 }, provider: 'upstream' };
  const aborted = { ...ended, end_reason: 'background_aborted' };

  it('count while they run and are billed exactly', async () => {
    const books = await openBooks({ server });
    const waiting: (() => void)[] = [];
    books.upstream.reply(socket => waiting.push(() => socket.write(wholeReplyOf(kind!))));
    const all: Asked[] = [];
    for (let count = 1; count <= 3; count++) {
      all.push(await giveUp(books, manner));
      await until(async () => (await reads(books)) === count);
    }
    expect(books.entries).toHaveLength(0);
    expect(books.gateway.gateway.inFlight).toBe(3);
    for (const answer of waiting) answer();
    for (const asked of all) {
      const outcome = await asked.settled();
      expect(outcome).toMatchObject(ended);
      expectBilled(outcome.usage, kind!, 'all');
    }
    await until(async () => (await reads(books)) === 0);
  });

  it('are aborted after max_background_ms', async () => {
    const books = await openBooks({ server: { ...server, max_background_ms: 200 } });
    books.upstream.reply(() => {});
    const asked = await giveUp(books, manner);
    expect(await books.upstream.last.closed).toBe('gateway');
    const outcome = await asked.settled();
    expect(outcome).toMatchObject(aborted);
    expect(outcome.timings.duration_ms).toBeGreaterThan(180);
    expectBilled(outcome.usage, kind!, 'prompt');
    expect(await reads(books)).toBe(0);
  });

  it('are aborted in the middle of the body as well', async () => {
    const books = await openBooks({ server: { ...server, max_background_ms: 200 } });
    books.upstream.reply(wholeReplyOf(kind!).subarray(0, 500));
    const asked = await giveUp(books, manner);
    expect(await books.upstream.last.closed).toBe('gateway');
    expectBilled((await asked.settled()).usage, kind!, 'prompt');
  });

  it.each([0, 2])('are aborted at once when %i are running already', async max_background => {
    const books = await openBooks({ server: { ...server, max_background } });
    books.upstream.reply(() => {});
    for (let count = 1; count <= max_background; count++) {
      await giveUp(books, manner);
      await until(async () => (await reads(books)) === count);
    }
    const further: [Asked, UpstreamRequest][] = [];
    for (let count = 0; count < 2; count++) further.push([await giveUp(books, manner), books.upstream.last]);
    for (const [asked, request] of further) {
      expect(await request.closed).toBe('gateway');
      const outcome = await asked.settled();
      expect(outcome).toMatchObject(aborted);
      expectBilled(outcome.usage, kind!, 'prompt');
    }
    expect(await reads(books)).toBe(max_background);
    expect(books.upstream.open).toBe(max_background);
    await books.gateway.gateway.close(0);
    expect(books.entries).toHaveLength(max_background + 2);
    // A place becomes free with each that ends.
    expect(await reads(books)).toBe(0);
  });

  it('release their slot when they end', async () => {
    const books = await openBooks({ server: { ...server, max_background: 1 } });
    for (let time = 0; time < 3; time++) {
      const { promise, resolve } = Promise.withResolvers<void>();
      books.upstream.reply(async socket => {
        await promise;
        socket.write(wholeReplyOf(kind!));
      });
      const asked = await giveUp(books, manner);
      await until(async () => (await reads(books)) === 1);
      resolve();
      expectBilled((await asked.settled()).usage, kind!, 'all');
    }
  });
});

describe('streams that a client leaves', () => {
  it('are never read in the background', async () => {
    const books = await openBooks();
    books.upstream.reply(() => {});
    const asked = books.ask({ stream: true });
    await until(() => books.upstream.requests.length === 1);
    asked.connection.destroy();
    await asked.settled();
    expect(await books.upstream.last.closed).toBe('gateway');
    expect(await reads(books)).toBe(0);
  });
});
