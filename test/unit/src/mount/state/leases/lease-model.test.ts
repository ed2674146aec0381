import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import type { Limit, LimitName } from '../../../../../../src/gateway/limits/limit-table.ts';
import {
  machine_times,
  process_times,
  told_machine_times,
} from '../../../../../../src/records/lease-protocol.ts';
import { calm, disasters, ended, losses, network, runOf } from './lease-operations.ts';
import { LeaseWorld, times, told_times } from './lease-world.ts';

describe.each([
  ['that hear by polling what is asked back', times],
  ['that are told what is asked back', told_times],
])('leases of processes %s', (_, own_times) => {
  it.each([
    ['requests alone', calm],
    ['messages that are late, lost, doubled and in another order', network],
    ['crashes, silences and clocks that are set', disasters],
    ['a table that loses its state, with one limit more for each loss', losses],
  ])('admit at most the limit in any window, forget no use and lose no quota under %s', (_, kinds) => {
    fc.assert(
      fc.property(runOf(kinds), run => {
        ended(run, { own_times });
      }),
      { numRuns: 120 },
    );
  });

  it('refuse no request that fits, but for what others returned in the last 110 ms', () => {
    const property = fc.property(runOf(calm), run => ended(run, { own_times }).verifyRefusals(110));
    fc.assert(property, { numRuns: 120 });
  });
});

describe('leases between two processes', () => {
  const row = (name: LimitName, max: number): Limit[] => [{ name, max }];
  type Step = readonly [owner: number, run: (world: LeaseWorld, limits: Limit[]) => boolean];
  const steps: readonly Step[] = [
    ...[0, 1].flatMap((at): Step[] => [
      [at, (world, limits) => world.reserve(at, limits, [1])],
      [at, world => world.tick(at)],
      [at, world => world.settleOf(at, 0)],
      [at, world => world.settleOf(at, 1)],
    ]),
    [2, world => world.crash(0)],
    [2, world => world.advance(times.report_ms)],
    [2, world => world.advance(times.lease_ms)],
    ...[0, 1].flatMap((at): Step[] => [
      [2, world => world.deliver(at)],
      [2, world => world.deliver(at, true)],
      [2, world => world.drop(at)],
    ]),
  ];

  /** Every order of `depth` steps after a beginning; of two processes' own steps, which do not depend on each other, one. */
  function search(begin: () => LeaseWorld, limits: Limit[], depth: number): number {
    let searched = 0;
    const follow = (path: readonly Step[]) => {
      const world = begin();
      if (!path.every(([, run]) => run(world, limits))) return;
      if (path.length === depth) {
        searched++;
        world.rest(3, 40);
        world.verify(limits, false);
        return;
      }
      const before = path.at(-1)?.[0] ?? 0;
      for (const next of steps) if (before === 2 || next[0] >= before) follow([...path, next]);
    };
    follow([]);
    return searched;
  }

  it.each([
    ['money', row('usd_per_month', 2)],
    ['concurrency', row('concurrent_requests', 2)],
  ])('hold a limit of 2 on %s in every order of five steps', (_, limits) => {
    const begin = () => {
      const world = new LeaseWorld(2, { asJson: false });
      world.run(1);
      return world;
    };
    expect(search(begin, limits, 5)).toBeGreaterThan(5000);
  });

  it('hold a limit in every order of four steps after a block was granted', () => {
    const limits = row('requests_per_minute', 6);
    const begin = () => {
      const world = new LeaseWorld(2, { asJson: false });
      for (let request = 0; request < 3; request++) world.reserve(0, limits, [1]);
      world.run(30);
      return world;
    };
    expect(begin().counted(limits)).toEqual([{ used: 3, free: 2 }]);
    expect(search(begin, limits, 4)).toBeGreaterThan(1000);
  });
});

it('the durations of both kinds let blocks come back while a request waits', () => {
  // A report that was just missed, then five messages one after another, and the next question.
  const machines = machine_times.poll_ms + machine_times.retry_ms + 7 * 60;
  expect(machines).toBeLessThanOrEqual(machine_times.patience_ms);
  // Seen within 200 ms, and then a question and its answer, given back and asked again.
  const { retry_ms, patience_ms } = told_machine_times;
  expect(200 + retry_ms + 7 * 60).toBeLessThanOrEqual(patience_ms);
  // The table tells it at once.
  expect(process_times.retry_ms + 6 * 5).toBeLessThanOrEqual(process_times.patience_ms);
});
