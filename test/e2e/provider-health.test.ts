import { afterEach, expect, it } from '@jest/globals';
import { answering, expectAnswerOf, goodAnswer, openProviders } from '../support/failover-setting.ts';
import { type Script, whole } from '../support/scripted-upstream.ts';
import { type Books, closeBalanced } from '../support/settlement.ts';
import { until } from '../support/until.ts';

afterEach(closeBalanced);

const health_check = { path: '/health', interval_ms: 100, timeout_ms: 200 };
const isHealthy = ({ gateway }: Books) =>
  gateway.metric('sluice_provider_healthy', { sluice_provider: 'upstream' });

/** Answers health checks as `health` does and everything else well. */
function checked(books: Books, health: Script): void {
  const answer = answering(1);
  books.upstream.reply((socket, request) => {
    const script = request.method === 'GET' ? health : answer;
    if (typeof script === 'function') return script(socket, request);
    socket.write(script);
  });
}

it.each<[string, Script]>([
  ['says so', whole(503, 'loading')],
  ['sends the checker elsewhere', whole(302, '', { location: 'http://169.254.169.254/' })],
])('stops sending requests to a server that is unhealthy and %s until it recovers', async (_, sick) => {
  const books = await openProviders(2, { providers: [{ health_check, headers: { 'x-probe': 'yes' } }] });
  books.upstreams[1]!.reply(answering(2));
  checked(books, whole(200, 'ok'));
  await until(() => books.upstream.requests.length >= 2);
  const { method, path, headers } = books.upstream.requests[0]!;
  expect([method, path, headers['x-probe']]).toEqual(['GET', '/health', 'yes']);
  expectAnswerOf(1, await books.send(true), []);

  checked(books, sick);
  await until(async () => (await isHealthy(books)) === 0);
  expectAnswerOf(2, await books.send(true), []);

  checked(books, whole(204, ''));
  await until(async () => (await isHealthy(books)) === 1);
  expectAnswerOf(1, await books.send(false), []);
});

/** Lets the first provider take requests without an answer, or do with them what `taken` does. */
function hanging(books: Books, health: Script, taken: Script = () => {}): void {
  books.upstream.reply((socket, request) => {
    const script = request.method === 'GET' ? health : taken;
    if (typeof script === 'function') return script(socket, request);
    socket.write(script);
  });
}

const generations = ({ upstream }: Books) =>
  upstream.requests.filter(({ method }) => method === 'POST').length;

it.each([false, true])(
  'moves an unanswered request to another server when the health check fails (stream: %s)',
  async stream => {
    const books = await openProviders(2, { providers: [{ health_check }] });
    books.upstreams[1]!.reply(answering(2));
    hanging(books, whole(200, 'ok'));
    const sent = books.send(stream);
    await until(() => generations(books) === 1);
    hanging(books, whole(503, 'out of memory'));
    expectAnswerOf(2, await sent, ['upstream: unhealthy']);
  },
);

it('keeps waiting for a reply that has begun and for the only server', async () => {
  const reply = goodAnswer(1, false);
  for (const count of [2, 1]) {
    const books = await openProviders(count, { providers: [{ health_check }] });
    books.upstreams[1]?.reply(answering(2));
    let finish = () => {};
    hanging(books, whole(200, 'ok'), socket => {
      const begun = count === 2 ? reply.length - 20 : 0;
      socket.write(reply.subarray(0, begun));
      finish = () => socket.write(reply.subarray(begun));
    });
    const sent = books.send(false);
    await until(() => generations(books) === 1);
    hanging(books, whole(503, 'out of memory'));
    await until(async () => (await isHealthy(books)) === 0);
    finish();
    expectAnswerOf(1, await sent, []);
    await closeBalanced();
  }
});
