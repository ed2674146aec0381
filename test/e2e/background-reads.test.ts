import { afterEach, expect, it } from '@jest/globals';
import { MemoryStateStore } from '../../src/mount/state/counters/memory-state-store.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { clientKey } from '../support/gateway-under-test.ts';
import { type Asked, closeBalanced, openBooks } from '../support/settlement.ts';
import { expectBilled, usageKinds, wholeReplyOf } from '../support/settlement-answer.ts';
import { until } from '../support/until.ts';

afterEach(closeBalanced);

const [kind] = usageKinds;

/** How a client may give up a reply that is then read on for its bill alone. */
const givingUp = [
  { how: 'answered 524', server: { non_stream_timeout_ms: 1500 }, end_reason: 'time_limit', status: 524 },
  { how: 'left', server: {}, end_reason: 'client_gone', status: 0 },
] as const;

it.each(givingUp)(
  'replies whose client has $how count and hold a permit while they are read, at most max_background at a time',
  async ({ how, server, end_reason, status }) => {
    const state = new MemoryStateStore(new FakeClock());
    const books = await openBooks({
      server: { ...server, max_background: 2 },
      options: { state },
      config: {
        plans: { tested: { concurrent_requests: 10 } },
        accounts: { tester: { plan: 'tested', keys: [{ value: clientKey }] } },
      },
    });
    const { gateway, upstream } = books;
    const waiting: (() => void)[] = [];
    upstream.reply(socket => waiting.push(() => socket.write(wholeReplyOf(kind!))));
    const running = async (count: number) => {
      await until(async () => (await gateway.metric('sluice_background_reads')) === count);
      const { remaining } = state.statuses('tester', [{ name: 'concurrent_requests', max: 10 }])[0]!;
      expect([gateway.gateway.inFlight, 10 - remaining]).toEqual([count, count]);
    };
    const giveUp = async (): Promise<Asked> => {
      const before = upstream.requests.length;
      const asked = books.ask();
      await until(() => upstream.requests.length === before + 1);
      if (how === 'left') asked.connection.destroy();
      else await asked.connection.received(/^HTTP\/1\.1 524 [\s\S]*\}$/);
      return asked;
    };
    const expectRead = async (asked: Asked) => {
      waiting.shift()!();
      const outcome = await asked.settled();
      expect(outcome).toMatchObject({ end_reason, status, provider: 'upstream', attempts: { length: 1 } });
      expectBilled(outcome.usage, kind!, 'all');
    };
    const first = await giveUp();
    await running(1);
    const second = await giveUp();
    await running(2);
    const third = await giveUp();
    expect(await upstream.last.closed).toBe('gateway');
    const aborted = await third.settled();
    expect(aborted).toMatchObject({ end_reason: 'background_aborted', status });
    expectBilled(aborted.usage, kind!, 'prompt');
    waiting.pop();
    await running(2);
    await expectRead(first);
    await running(1);
    const fourth = await giveUp();
    await running(2);
    await expectRead(second);
    await expectRead(fourth);
    await running(0);
  },
);
