import { afterAll, beforeAll, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { Limit } from '../../../../../../src/stores/limits/limit-table.ts';
import { MemoryStateStore } from '../../../../../../src/stores/limits/memory-state-store.ts';
import type {
  Reservation,
  ReservationResult,
  StateStore,
} from '../../../../../../src/stores/limits/state-store.ts';
import { FakeClock } from '../../../../../support/fake-clock.ts';
import { type RedisServer, startRedis } from '../../../../../support/redis-server.ts';
import { openRedisStore } from '../../../../../support/redis-store.ts';
import { charge, limit } from '../../../../../support/state-store-contract.ts';

/**
 * What is taken makes room again 60 to 61 s later, and each store has a moment of its own in that second: in steps of 7 s nothing is ever
 * that old.
 */
const step_ms = 7000;
/** Nobody renews leases in time that a test advances. */
const lease_ms = 70 * 86_400_000;
const all: readonly Limit[] = [
  limit('requests_per_minute', 6),
  limit('tokens_per_minute', 500),
  limit('tokens_per_minute', 300, 'm'),
  limit('tokens_per_day', 2000),
  limit('concurrent_requests', 4),
  limit('usd_per_month', 9000),
];

type Step =
  | { kind: 'reserve'; mask: number; tokens: number; nano_usd: number; force: boolean; account: string }
  | { kind: 'settle'; which: number; tokens: number; nano_usd: number; requests: number }
  | { kind: 'wait'; steps: number };

const amount = fc.integer({ min: 0, max: 400 });
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('reserve' as const),
      mask: fc.integer({ min: 1, max: 63 }),
      tokens: amount,
      nano_usd: amount,
      force: fc.boolean(),
      account: fc.constantFrom('a', 'b'),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('settle' as const),
      which: fc.nat(),
      tokens: amount,
      nano_usd: amount,
      requests: fc.constantFrom(0, 1, 1),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('wait' as const),
      steps: fc.constantFrom(1, 2, 3, 5, 8, 9, 10, 6172, 12_343),
    }),
  },
);

let redis: RedisServer;
let rounds = 0;

beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis?.stop());

/** What both stores must say alike; waits within a minute differ by less than the second. */
const shown = (taken: ReservationResult) => ({
  admitted: taken.admitted,
  remaining: taken.statuses.map(({ remaining }) => remaining),
  resets: taken.statuses.map(({ reset_ms }) => Math.round(reset_ms / step_ms)),
  over: taken.admitted ? taken.reservation.over : [],
  waits: taken.admitted ? 0 : Math.round(taken.retry_ms / step_ms),
});

async function play(steps: readonly Step[]): Promise<void> {
  const clock = new FakeClock(Date.UTC(2026, 10, 29, 22, 30));
  const memory = new MemoryStateStore(clock);
  const guarded = await openRedisStore({
    url: redis.url,
    clock,
    fakeTime: true,
    key_prefix: `r${++rounds}:`,
    lease_ms,
  });
  const open: (readonly Reservation[])[] = [];
  const stores: readonly StateStore[] = [memory, guarded.store];
  const statuses = async () =>
    Promise.all(stores.flatMap(store => ['a', 'b'].map(account => store.statuses(account, all))));
  try {
    for (const [at, one] of steps.entries()) {
      if (one.kind === 'wait') clock.advance(one.steps * step_ms);
      else if (one.kind === 'settle') {
        const [reservations] = open.splice(one.which % Math.max(1, open.length), 1);
        for (const reservation of reservations ?? [])
          reservation.settle(charge(one.tokens, one.nano_usd, one.requests));
        await guarded.store.settled();
      } else {
        const limits = all.filter((_, bit) => one.mask & (1 << bit));
        const { account, force } = one;
        const request = { id: `${at}`, account, limits, charge: charge(one.tokens, one.nano_usd), force };
        const taken = await Promise.all(stores.map(async store => store.reserve(request)));
        expect(shown(taken[1]!)).toEqual(shown(taken[0]!));
        if (taken.every(one => one.admitted))
          open.push(taken.map(one => (one as { reservation: Reservation }).reservation));
      }
      const [memoryA, memoryB, redisA, redisB] = (await statuses()).map(of =>
        of.map(({ remaining }) => remaining),
      );
      expect([redisA, redisB]).toEqual([memoryA, memoryB]);
    }
    expect(await guarded.metric('sluice_state_alone_total')).toBe(0);
  } finally {
    await guarded.store.close();
  }
}

it('gives the same results in Redis and in memory for any reservations, settlements and waits', async () => {
  await fc.assert(fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 60 }), play), { numRuns: 100 });
}, 60_000);
