import { afterEach, describe, expect, it } from '@jest/globals';
import type { Limit } from '../../src/gateway/limits/limit-table.ts';
import type { Charge } from '../../src/gateway/limits/limit-units.ts';
import type { StateStore } from '../../src/gateway/limits/state-store.ts';
import { MemoryStateStore } from '../../src/mount/state/counters/memory-state-store.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { completion } from '../support/hostile-setting.ts';
import { closeLimited, startLimited } from '../support/limited-gateway.ts';
import { whole } from '../support/scripted-upstream.ts';
import { until } from '../support/until.ts';

afterEach(closeLimited);

const max = 50_000;

/** A reply that has used so many tokens. */
const using = (prompt_tokens: number, completion_tokens: number) =>
  whole(200, completion('Yes.', {}, { usage: { prompt_tokens, completion_tokens } }));

/** Pseudo-random numbers below `below`, the same every time. */
function numbers(below: number): () => number {
  let state = 12_345;
  return () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return (state >>> 8) % below;
  };
}

/** What every admitted exchange has reserved and used. */
function watched(clock: FakeClock) {
  const memory = new MemoryStateStore(clock);
  const settled: { reserved: Charge; used: Charge }[] = [];
  const state: StateStore = {
    reserve(request) {
      const taken = memory.reserve(request);
      if (!taken.admitted) return taken;
      const { reservation } = taken;
      const settle = (used: Charge) => {
        settled.push({ reserved: request.charge, used });
        reservation.settle(used);
      };
      return { ...taken, reservation: { over: reservation.over, settle } };
    },
    statuses: (account, limits) => memory.statuses(account, limits),
    knownStatuses: (account, limits) => memory.statuses(account, limits),
    close: () => memory.close(),
  };
  return { state, settled };
}

describe('usage above the token limit', () => {
  it('is at most one estimate error for each request in flight', async () => {
    const clock = new FakeClock();
    const { state, settled } = watched(clock);
    const parallel = 25;
    const { upstream, send } = await startLimited({ tokens_per_minute: max }, { options: { clock, state } });
    const random = numbers(600);
    upstream.reply(socket => setTimeout(() => socket.write(using(20, 50 + random())), random() / 60));
    let refused = 0;
    const client = async () => {
      for (let at = 0; at < 20; at++) {
        const reply = await send();
        await reply.text();
        if (reply.status === 429) refused++;
      }
    };
    await Promise.all(Array.from({ length: parallel }, client));
    expect(refused).toBeGreaterThan(0);
    const used = settled.reduce((sum, { used }) => sum + used.tokens, 0);
    const errors = settled.map(({ reserved, used }) => Math.max(0, used.tokens - reserved.tokens));
    const worst = errors.toSorted((a, b) => b - a).slice(0, parallel);
    expect(used).toBeLessThanOrEqual(max + worst.reduce((sum, error) => sum + error, 0));
    // And the room has been used: what is left would not have held one more completion of the longest kind.
    expect(used).toBeGreaterThan(max - 1500);
  });
});

describe('the remaining token quota', () => {
  it('is used up to the last request that fits, once completion lengths are known', async () => {
    const { upstream, send, idle, remaining } = await startLimited({ tokens_per_minute: max });
    upstream.reply(using(40, 60));
    let admitted = 0;
    while ((await send()).status === 200) {
      admitted++;
      await idle();
    }
    // 100 tokens each; whatever is reserved for the last is no more than some above that.
    expect(admitted).toBeGreaterThanOrEqual(max / 100 - 1);
    expect(remaining('tokens_per_minute', max)).toBeLessThan(200);
  });

  it('admits a request larger than the whole limit when nothing else counts', async () => {
    const { upstream, send, idle, clock, remaining } = await startLimited({ tokens_per_minute: 100 });
    upstream.reply(using(2000, 500));
    const ask = async () => {
      const reply = await send({ messages: [{ role: 'user', content: 'a long question '.repeat(500) }] });
      await reply.text();
      await idle();
      return reply.status;
    };
    expect([await ask(), await ask()]).toEqual([200, 429]);
    expect(remaining('tokens_per_minute', 3000)).toBe(500);
    clock.advance(60_000);
    expect(await ask()).toBe(200);
  });
});

describe('a burst after short replies', () => {
  const started = async (limits: Parameters<typeof startLimited>[0]) => {
    const limited = await startLimited(limits);
    const used = (account: string, limit: Limit) =>
      limit.max - limited.state.statuses(account, [limit])[0]!.remaining;
    /** Requests of which none is answered before all have been admitted or refused. Returns how many were admitted. */
    const burst = async (count: number, tokens: number, more: object) => {
      const waiting: { write(bytes: Buffer): unknown }[] = [];
      let refused = 0;
      limited.upstream.reply(socket => waiting.push(socket));
      const replies = Array.from({ length: count }, async () => {
        const reply = await limited.send(more);
        if (reply.status === 429) refused++;
        await reply.text();
      });
      await until(() => waiting.length + refused === count);
      for (const socket of waiting) socket.write(using(10, tokens));
      await Promise.all(replies);
      await limited.idle();
      return waiting.length;
    };
    return { ...limited, burst, used };
  };
  const large = 1e12;

  it('never spends more than a limit on money', async () => {
    const { burst, used } = await started({ usd_per_month: '0.05' });
    expect(await burst(40, 1, { max_tokens: 10 })).toBe(40);
    // 0.012 dollars each.
    expect(await burst(300, 2000, { max_tokens: 2000 })).toBe(3);
    await until(() => used('tester', { name: 'usd_per_month', max: large }) > 0.036e9);
    expect(used('tester', { name: 'usd_per_month', max: large })).toBeLessThanOrEqual(0.05e9);
  });
});
