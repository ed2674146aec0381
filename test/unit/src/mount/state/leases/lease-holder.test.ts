import { describe, expect, it } from '@jest/globals';
import type { Limit } from '../../../../../../src/gateway/limits/limit-table.ts';
import type { HeldReservation } from '../../../../../../src/mount/state/leases/held-account.ts';
import { LeaseHolder } from '../../../../../../src/mount/state/leases/lease-holder.ts';
import { LeaseTable } from '../../../../../../src/mount/state/leases/lease-table.ts';
import { process_times } from '../../../../../../src/records/lease-protocol.ts';
import { FakeClock } from '../../../../../support/fake-clock.ts';

const perMinute = (max: number): Limit => ({ name: 'requests_per_minute', max });

describe('a holder of leases', () => {
  /** A holder whose messages are answered at once. */
  const open = () => {
    const clock = new FakeClock();
    const table = new LeaseTable(clock, 'one', process_times);
    const holder = new LeaseHolder(process_times);
    let messages = 0;
    const tick = () => {
      for (
        let sent = holder.tick(clock.elapsed_ms());
        sent.length > 0;
        sent = holder.tick(clock.elapsed_ms())
      ) {
        messages += sent.length;
        for (const message of sent) holder.receive(table.exchange('holder', message), clock.elapsed_ms());
      }
    };
    const reserve = (limit: Limit, amount = 1, account = 'a'): HeldReservation => {
      const reservation = holder.reserve(account, [limit], [amount], clock.elapsed_ms());
      if (reservation.state === 'waiting') tick();
      return reservation;
    };
    const pass = (ms: number) => {
      for (let passed = 0; passed < ms; passed += 10) {
        clock.advance(10);
        tick();
      }
    };
    return { clock, table, holder, tick, reserve, pass, messages: () => messages };
  };

  it('serves a busy account from blocks: 50 messages at most for 1000 requests', () => {
    const { reserve, pass, messages } = open();
    for (let request = 0; request < 1000; request++) {
      expect(reserve(perMinute(100_000)).state).toBe('admitted');
      pass(10);
    }
    expect(messages()).toBeLessThan(50);
  });

  it('admits up to the last request of a limit, and says when the next one fits', () => {
    const { clock, reserve, pass } = open();
    const limit = perMinute(30);
    for (let request = 0; request < 30; request++) {
      expect(reserve(limit).state).toBe('admitted');
      pass(20);
    }
    const refused = reserve(limit);
    expect(refused).toMatchObject({ state: 'refused', refused_by: limit });
    clock.advance(refused.retry_ms);
    expect(reserve(limit).state).toBe('admitted');
  });

  it('repeats a refusal for a moment without asking, but for smaller amounts', () => {
    const { holder, clock, reserve, messages } = open();
    const tokens: Limit = { name: 'tokens_per_day', max: 100 };
    reserve(tokens, 90);
    expect(reserve(tokens, 20).state).toBe('refused');
    const before = messages();
    expect(reserve(tokens, 30)).toMatchObject({ state: 'refused', refused_by: tokens });
    expect(messages()).toBe(before);
    expect(reserve(tokens, 10).state).toBe('admitted');
    clock.advance(process_times.retry_ms);
    expect(holder.reserve('a', [tokens], [30], clock.elapsed_ms()).state).toBe('waiting');
  });

  it('knows what is left without asking', () => {
    const { holder, clock, reserve } = open();
    const limit = perMinute(100);
    expect(holder.status('a', limit, clock.elapsed_ms())).toBeUndefined();
    reserve(limit);
    clock.advance(1000);
    expect(holder.status('a', limit, clock.elapsed_ms())).toEqual({
      limit,
      remaining: 99,
      reset_ms: 59_000,
    });
    for (let request = 0; request < 4; request++) reserve(limit);
    expect(holder.status('a', limit, clock.elapsed_ms())?.remaining).toBe(95);
  });

  it('does not ask for a request that is cancelled before', () => {
    const { holder, clock, tick, reserve } = open();
    const limit = perMinute(100);
    reserve(limit);
    holder.reserve('b', [limit], [1], clock.elapsed_ms()).cancel();
    tick();
    reserve(limit, 1, 'b');
    expect(holder.status('b', limit, clock.elapsed_ms())?.remaining).toBe(99);
  });

  it('keeps no place of concurrency that was forced above the limit', () => {
    const { holder, clock, tick, reserve } = open();
    const running: Limit = { name: 'concurrent_requests', max: 1 };
    const first = reserve(running);
    const forced = holder.reserve('a', [running], [1], clock.elapsed_ms(), true);
    tick();
    expect(forced.over).toEqual([running]);
    first.settle([]);
    expect(reserve(running).state).toBe('refused');
    forced.settle([]);
    clock.advance(1000);
    expect(reserve(running).state).toBe('admitted');
  });

  it('counts what is not settled again when the table has lost its state, and settles it there', () => {
    const { holder, clock, reserve } = open();
    const tokens: Limit = { name: 'tokens_per_day', max: 100 };
    const running = [reserve(tokens, 30), reserve(tokens, 20)];
    const lost = new LeaseTable(clock, 'two', process_times);
    const used = () => {
      for (let asked = 0; asked < 4; asked++) {
        clock.advance(1000);
        for (const message of holder.tick(clock.elapsed_ms()))
          holder.receive(lost.exchange('holder', message), clock.elapsed_ms());
      }
      return 100 - holder.status('a', tokens, clock.elapsed_ms())!.remaining;
    };
    holder.ask('a', [tokens], clock.elapsed_ms());
    expect(used()).toBe(50);
    running[0]!.settle([12]);
    running[1]!.settle([25]);
    expect(used()).toBe(37);
  });

  it('forgets accounts of which it holds nothing', () => {
    const { holder, reserve, pass } = open();
    for (let account = 0; account < 100; account++) reserve(perMinute(10), 1, `${account}`).settle([1]);
    expect(holder.size).toBe(100);
    pass(process_times.ahead_ms * 2);
    expect(holder.size).toBe(0);
  });

  it('knows what is left of the last 5000 accounts at least, of which it holds nothing', () => {
    const { holder, clock, reserve, tick } = open();
    const daily: Limit = { name: 'tokens_per_day', max: 10 };
    const known = (account: number) => holder.status(`${account}`, daily, clock.elapsed_ms())?.remaining;
    for (let account = 0; account < 12_000; account++) {
      reserve(daily, 3, `${account}`).settle([3]);
      if (account % 1000 === 0) clock.advance(process_times.ahead_ms * 2);
      if (account % 1000 === 0) tick();
    }
    expect([known(11_000), known(7001), known(0)]).toEqual([7, 7, undefined]);
    expect(reserve(daily, 8, '7001').state).toBe('refused');
  });
});
