import { afterEach, expect, it } from '@jest/globals';
import { answering, expectAnswerOf, openProviders } from '../support/failover-setting.ts';
import { until } from '../support/raw-client.ts';
import { type Script, whole } from '../support/scripted-upstream.ts';
import { type Books, closeBalanced } from '../support/settlement.ts';

afterEach(closeBalanced);

const health_check = { path: '/health', interval_ms: 100, timeout_ms: 200 };
const isHealthy = ({ gateway }: Books) =>
  gateway.metric('sluice_provider_healthy', { gen_ai_provider_name: 'upstream' });

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
  ['says nothing', () => {}],
  ['closes the connection', socket => void socket.resetAndDestroy()],
  ['sends the checker elsewhere', whole(302, '', { location: 'http://169.254.169.254/' })],
])('a server that is not well and %s is asked nothing else until it is', async (_, sick) => {
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

it('one failed check is none', async () => {
  const books = await openProviders(1, {
    providers: [{ health_check: { ...health_check, unhealthy_after: 3 } }],
  });
  const good = whole(200, 'ok');
  let count = 0;
  checked(books, socket => void socket.write(++count % 3 === 0 ? good : whole(500, '')));
  await until(() => count > 8);
  expect(await isHealthy(books)).toBe(1);
});

it('checks end with the gateway', async () => {
  const books = await openProviders(1, { providers: [{ health_check }] });
  checked(books, () => {});
  await until(() => books.upstream.requests.length === 1);
  const begun_ms = Date.now();
  await books.gateway.gateway.close(0);
  expect(Date.now() - begun_ms).toBeLessThan(1000);
  const before = books.upstream.requests.length;
  await new Promise(resolve => setTimeout(resolve, 400));
  expect(books.upstream.requests.length).toBe(before);
  expect(books.upstream.open).toBe(0);
});
