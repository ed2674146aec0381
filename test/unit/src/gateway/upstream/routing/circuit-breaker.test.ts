import { describe, expect, it } from '@jest/globals';
import {
  type BreakerState,
  breakerSchema,
  CircuitBreaker,
} from '../../../../../../src/gateway/upstream/routing/circuit-breaker.ts';
import { FakeClock } from '../../../../../support/fake-clock.ts';

function breakerWith(config: object = {}) {
  const clock = new FakeClock();
  const states: BreakerState[] = [];
  const breaker = new CircuitBreaker(breakerSchema.parse(config), clock, state => states.push(state));
  const fail = (times = 1) => {
    for (let count = 0; count < times; count++) breaker.failed(breaker.begin());
  };
  const succeed = (times = 1) => {
    for (let count = 0; count < times; count++) breaker.succeeded(breaker.begin());
  };
  return { breaker, clock, states, fail, succeed };
}

describe('a closed breaker', () => {
  it('opens after consecutive failures, and not when a success comes between them', () => {
    const { breaker, fail, succeed } = breakerWith({ consecutive_failures: 3 });
    fail(2);
    succeed();
    fail(2);
    expect(breaker.retry_in_ms).toBe(0);
    fail();
    expect(breaker.state).toBe('open');
    expect(breaker.retry_in_ms).toBeGreaterThan(0);
  });

  it('opens when too large a share fails, once there were enough attempts', () => {
    const { breaker, fail, succeed } = breakerWith({
      consecutive_failures: 0,
      failure_ratio: 0.5,
      window: 20,
    });
    for (let count = 0; count < 4; count++) {
      fail();
      succeed();
    }
    fail();
    expect(breaker.state).toBe('closed');
    fail();
    expect(breaker.state).toBe('open');
  });

  it('never opens when it is disabled', () => {
    const { breaker, fail } = breakerWith({ consecutive_failures: 0, failure_ratio: 1 });
    fail(1000);
    expect(breaker.state).toBe('closed');
  });

  it('does not open for aborted attempts', () => {
    const { breaker } = breakerWith({ consecutive_failures: 1 });
    breaker.abandoned(breaker.begin());
    expect(breaker.state).toBe('closed');
  });

  it('opens for a time of which half is random', () => {
    for (let count = 0; count < 50; count++) {
      const { breaker, fail } = breakerWith({ open_ms: 1000 });
      fail(5);
      expect(breaker.retry_in_ms).toBeGreaterThanOrEqual(500);
      expect(breaker.retry_in_ms).toBeLessThanOrEqual(1000);
    }
  });
});

/** Opened, and its time over. */
function halfOpen(config: object = {}) {
  const all = breakerWith({ open_ms: 1000, ...config });
  all.fail(5);
  all.clock.advance(1000);
  return all;
}

describe('a half-open breaker', () => {
  it('is reached by time alone, without a request', () => {
    const { breaker, states } = halfOpen();
    expect(breaker.state).toBe('half_open');
    expect(breaker.retry_in_ms).toBe(0);
    expect(states).toEqual(['open']);
  });

  it('admits one probe, then two, and closes when enough have succeeded', () => {
    const { breaker, states } = halfOpen({ probes: 4 });
    const first = breaker.begin();
    expect(breaker.retry_in_ms).toBeGreaterThan(0);
    breaker.succeeded(first);
    const second = breaker.begin();
    expect(breaker.retry_in_ms).toBe(0);
    const third = breaker.begin();
    expect(breaker.retry_in_ms).toBeGreaterThan(0);
    breaker.succeeded(second);
    breaker.succeeded(third);
    expect(breaker.state).toBe('half_open');
    breaker.succeeded(breaker.begin());
    expect(states).toEqual(['open', 'half_open', 'closed']);
  });

  it('opens again for longer when a probe fails, up to the maximum', () => {
    const { breaker, clock } = halfOpen({ max_open_ms: 4000 });
    for (const longest of [2000, 4000, 4000]) {
      breaker.failed(breaker.begin());
      expect(breaker.state).toBe('open');
      expect(breaker.retry_in_ms).toBeGreaterThanOrEqual(longest / 2);
      expect(breaker.retry_in_ms).toBeLessThanOrEqual(longest);
      clock.advance(longest);
    }
  });

  it('admits another probe for one that was aborted', () => {
    const { breaker } = halfOpen();
    breaker.abandoned(breaker.begin());
    expect(breaker.retry_in_ms).toBe(0);
  });

  it('ignores attempts that began before it opened', () => {
    const { breaker, clock } = breakerWith({ open_ms: 1000, probes: 1 });
    const old = [breaker.begin(), breaker.begin()];
    for (let count = 0; count < 5; count++) breaker.failed(breaker.begin());
    breaker.succeeded(old[0]!);
    expect(breaker.state).toBe('open');
    clock.advance(1000);
    const probe = breaker.begin();
    breaker.failed(old[1]!);
    expect(breaker.state).toBe('half_open');
    breaker.succeeded(probe);
    expect(breaker.state).toBe('closed');
  });
});

describe('a recovered provider', () => {
  it('gets a share that rises from a tenth to all', () => {
    const { breaker, clock, succeed } = halfOpen({ probes: 1, ramp_ms: 1000 });
    expect(breaker.share).toBe(1);
    succeed();
    expect(breaker.share).toBeCloseTo(0.1);
    clock.advance(500);
    expect(breaker.share).toBeCloseTo(0.55);
    clock.advance(500);
    expect(breaker.share).toBe(1);
  });

  it('gets all requests at once where that is configured', () => {
    const { breaker, succeed } = halfOpen({ probes: 1, ramp_ms: 0 });
    succeed();
    expect(breaker.share).toBe(1);
  });

  it('starts with fresh counts: old failures and long open times are forgotten', () => {
    const { breaker, fail, succeed } = halfOpen({ probes: 1, consecutive_failures: 5 });
    succeed();
    fail(4);
    expect(breaker.state).toBe('closed');
    fail();
    expect(breaker.retry_in_ms).toBeLessThanOrEqual(1000);
  });
});

describe('an open breaker', () => {
  it('counts a success of a bypassing attempt as a probe', () => {
    const { breaker, fail } = breakerWith({ probes: 2 });
    fail(5);
    breaker.succeeded(breaker.begin());
    expect(breaker.state).toBe('half_open');
    breaker.succeeded(breaker.begin());
    expect(breaker.state).toBe('closed');
  });

  it('becomes half open at once when the health check succeeds again', () => {
    const { breaker, fail } = breakerWith();
    fail(5);
    breaker.retryNow();
    expect(breaker.state).toBe('half_open');
  });
});
