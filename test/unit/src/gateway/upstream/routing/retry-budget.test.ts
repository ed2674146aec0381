import { describe, expect, it } from '@jest/globals';
import { RetryBudget } from '../../../../../../src/gateway/upstream/routing/retry-budget.ts';
import { FakeClock } from '../../../../../support/fake-clock.ts';

/** How many retries can be made now. */
function drain(budget: RetryBudget): number {
  let count = 0;
  while (!budget.isSpent) {
    budget.spend();
    count++;
  }
  return count;
}

describe('the retry budget', () => {
  it('is a few per second for a model without requests', () => {
    const clock = new FakeClock();
    const budget = new RetryBudget({ retry_ratio: 0.2, min_retries_per_second: 10 }, clock);
    expect(drain(budget)).toBe(300);
    clock.advance(1000);
    expect(drain(budget)).toBeGreaterThanOrEqual(9);
    expect(drain(budget)).toBe(0);
  });

  it('is a share of the requests of the last half minute', () => {
    const clock = new FakeClock();
    const budget = new RetryBudget({ retry_ratio: 0.2, min_retries_per_second: 0 }, clock);
    expect(drain(budget)).toBe(0);
    // 100 requests a second for two minutes: 100 * 30 * 0.2.
    for (let count = 0; count < 12_000; count++) {
      budget.deposit();
      clock.advance(10);
    }
    const retries = drain(budget);
    expect(retries).toBeGreaterThan(550);
    expect(retries).toBeLessThanOrEqual(600);
  });

  it('never exceeds that share under steady failure', () => {
    const clock = new FakeClock();
    const budget = new RetryBudget({ retry_ratio: 0.2, min_retries_per_second: 0 }, clock);
    let retries = 0;
    for (let count = 0; count < 20_000; count++) {
      budget.deposit();
      if (!budget.isSpent) {
        budget.spend();
        retries++;
      }
      clock.advance(10);
    }
    expect(retries / 20_000).toBeLessThanOrEqual(0.2);
    expect(retries / 20_000).toBeGreaterThan(0.19);
  });

  it('expires with time', () => {
    const clock = new FakeClock();
    const budget = new RetryBudget({ retry_ratio: 1, min_retries_per_second: 0 }, clock);
    for (let count = 0; count < 1000; count++) budget.deposit();
    clock.advance(300_000);
    expect(drain(budget)).toBe(0);
  });
});
