import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from '@jest/globals';
import { allWell, askedOf, failuresOf, openProviders } from '../support/failover-setting.ts';
import { type Script, whole } from '../support/scripted-upstream.ts';
import { closeBalanced } from '../support/settlement.ts';
import { until } from '../support/until.ts';

afterEach(closeBalanced);

const no = whole(500, { error: { message: 'no', type: 'x' } });
/** Fails when the test says so. */
function failingLater(): { script: Script; fail: () => void } {
  let fail = () => {};
  return { script: socket => void (fail = () => socket.write(no)), fail: () => fail() };
}

describe('failover after the client has disconnected', () => {
  it('closes the attempt of a stream at once and starts no other', async () => {
    const books = await openProviders(2);
    allWell(books);
    books.upstream.reply(() => {});
    const asked = books.ask({ stream: true });
    await until(() => books.upstream.requests.length === 1);
    asked.connection.destroy();
    expect(await books.upstream.last.closed).toBe('gateway');
    expect(await asked.settled()).toMatchObject({ end_reason: 'client_gone', attempts: { length: 1 } });
    expect(askedOf(books)).toEqual([1, 0]);
  });

  it('starts no other attempt when the background read of a whole reply fails', async () => {
    const books = await openProviders(2);
    allWell(books);
    const { script, fail } = failingLater();
    books.upstream.reply(script);
    const asked = books.ask();
    await until(() => books.upstream.requests.length === 1);
    asked.connection.destroy();
    await until(async () => (await books.gateway.metric('sluice_background_reads')) === 1);
    fail();
    const outcome = await asked.settled();
    expect(outcome).toMatchObject({
      end_reason: 'client_gone',
      attempts: { length: 1 },
      usage: { prompt_tokens: 0 },
    });
    expect(failuresOf(outcome)).toEqual(['upstream: status']);
    expect(askedOf(books)).toEqual([1, 0]);
  });

  it('starts no other attempt after a disconnect between two attempts', async () => {
    const routing = { retries_per_upstream: 1, backoff_ms: 5000, max_backoff_ms: 5000 };
    const books = await openProviders(1, { config: { routing } });
    books.upstream.reply(whole(503, '', { 'retry-after': '3' }));
    const asked = books.ask({ stream: true });
    await until(() => books.upstream.requests.length === 1);
    await sleep(100);
    asked.connection.destroy();
    const outcome = await asked.settled();
    expect(outcome).toMatchObject({
      end_reason: 'client_gone',
      attempts: { length: 1 },
      usage: { prompt_tokens: 0 },
    });
    expect(outcome.timings.duration_ms).toBeLessThan(2500);
    expect(askedOf(books)).toEqual([1]);
  });
});

it('starts no other attempt after the client was answered 524', async () => {
  const books = await openProviders(2, { server: { non_stream_timeout_ms: 500 } });
  allWell(books);
  const { script, fail } = failingLater();
  books.upstream.reply(script);
  const asked = books.ask();
  await asked.connection.received(/^HTTP\/1.1 524 /);
  fail();
  const outcome = await asked.settled();
  expect(outcome).toMatchObject({ end_reason: 'time_limit', status: 524, usage: { prompt_tokens: 0 } });
  expect(askedOf(books)).toEqual([1, 0]);
});

it('reads and bills the answer of the second provider that comes after 524', async () => {
  const books = await openProviders(2, { server: { non_stream_timeout_ms: 1500 } });
  allWell(books);
  const second = books.upstreams[1]!;
  let answer = () => {};
  books.upstream.reply(no);
  second.reply(socket => {
    answer = () =>
      socket.write(
        whole(200, {
          choices: [{ message: { content: 'Late.' }, finish_reason: 'stop' }],
          usage: { prompt_tokens: 9, completion_tokens: 2 },
        }),
      );
  });
  const asked = books.ask();
  await asked.connection.received(/^HTTP\/1.1 524 /);
  answer();
  expect(await asked.settled()).toMatchObject({
    end_reason: 'time_limit',
    provider: 'second',
    attempts: { length: 2 },
    usage: { prompt_tokens: 9, completion_tokens: 2 },
  });
});

it('starts no other attempt when the gateway shuts down', async () => {
  const books = await openProviders(2);
  allWell(books);
  books.upstream.reply(() => {});
  const asked = books.ask({ stream: true });
  await until(() => books.upstream.requests.length === 1);
  await books.gateway.gateway.close(50);
  expect(await asked.settled()).toMatchObject({ end_reason: 'shutdown', attempts: { length: 1 } });
  expect(askedOf(books)).toEqual([1, 0]);
});
