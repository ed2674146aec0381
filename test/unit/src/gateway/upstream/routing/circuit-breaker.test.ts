import { describe, expect, it } from '@jest/globals';
import { breakerSchema } from '../../../../../../src/config/provider-schema.ts';
import {
  type BreakerState,
  CircuitBreaker,
} from '../../../../../../src/gateway/upstream/routing/circuit-breaker.ts';
import { FakeClock } from '../../../../../support/fake-clock.ts';

const ends = { fails: 'failed', succeeds: 'succeeded', aborts: 'abandoned' } as const;
type Step = keyof typeof ends | 'retry now' | number;

/** A breaker after these steps: attempts, milliseconds that pass, and a server that is found healthy. */
function breakerAfter(config: object, ...steps: readonly Step[]) {
  const clock = new FakeClock();
  const states: BreakerState[] = [];
  const breaker = new CircuitBreaker(breakerSchema.parse(config), clock, state => states.push(state));
  const go = (...more: readonly Step[]) => {
    for (const step of more)
      if (typeof step === 'number') clock.advance(step);
      else if (step === 'retry now') breaker.retryNow();
      else breaker[ends[step]](breaker.begin());
  };
  go(...steps);
  return { breaker, clock, states, go };
}
const times = (count: number, ...steps: readonly Step[]) => Array<readonly Step[]>(count).fill(steps).flat();
const opened = times(5, 'fails');
const brief = { open_ms: 1000 };
const share = { consecutive_failures: 0, failure_ratio: 0.5, window: 20 };

describe('a circuit breaker', () => {
  it.each<[string, BreakerState, object, readonly Step[]]>([
    ['consecutive failures', 'open', { consecutive_failures: 3 }, times(3, 'fails')],
    [
      'a success between failures',
      'closed',
      { consecutive_failures: 3 },
      ['fails', 'fails', 'succeeds', 'fails', 'fails'],
    ],
    ['half of too few attempts', 'closed', share, [...times(4, 'fails', 'succeeds'), 'fails']],
    ['half of enough attempts', 'open', share, [...times(4, 'fails', 'succeeds'), 'fails', 'fails']],
    [
      'failures when it is disabled',
      'closed',
      { consecutive_failures: 0, failure_ratio: 1 },
      times(1000, 'fails'),
    ],
    ['an attempt that was aborted', 'closed', { consecutive_failures: 1 }, ['aborts']],
    ['its time, without a request', 'half_open', brief, [...opened, 1000]],
    ['a probe that was aborted', 'half_open', brief, [...opened, 1000, 'aborts']],
    ['some of its probes', 'half_open', { ...brief, probes: 2 }, [...opened, 1000, 'succeeds']],
    ['a success that bypassed it', 'half_open', { probes: 2 }, [...opened, 'succeeds']],
    ['enough successes that bypassed it', 'closed', { probes: 2 }, [...opened, 'succeeds', 'succeeds']],
    ['a health check that succeeds again', 'half_open', {}, [...opened, 'retry now']],
    [
      'old failures before its recovery and few after it',
      'closed',
      { ...brief, probes: 1 },
      [...opened, 1000, 'succeeds', ...times(4, 'fails')],
    ],
  ])('after %s is %s', (_, state, config, steps) => {
    const { breaker } = breakerAfter(config, ...steps);
    expect([breaker.state, breaker.retry_in_ms > 0]).toEqual([state, state === 'open']);
  });

  it('opens for a time of which half is random, also after a recovery', () => {
    for (let count = 0; count < 50; count++)
      for (const before of [[], [...opened, 1000, 'fails', 2000, 'succeeds'] as const]) {
        const { breaker } = breakerAfter({ ...brief, probes: 1 }, ...before, ...opened);
        expect(breaker.retry_in_ms).toBeGreaterThanOrEqual(500);
        expect(breaker.retry_in_ms).toBeLessThanOrEqual(1000);
      }
  });

  it('admits one probe, then two, and closes when enough have succeeded', () => {
    const { breaker, states } = breakerAfter({ ...brief, probes: 4 }, ...opened, 1000);
    expect(states).toEqual(['open']);
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
    const { breaker, go } = breakerAfter({ ...brief, max_open_ms: 4000 }, ...opened, 1000);
    for (const longest of [2000, 4000, 4000]) {
      go('fails');
      expect(breaker.state).toBe('open');
      expect(breaker.retry_in_ms).toBeGreaterThanOrEqual(longest / 2);
      expect(breaker.retry_in_ms).toBeLessThanOrEqual(longest);
      go(longest);
    }
  });

  it('ignores attempts that began before it opened', () => {
    const { breaker, go } = breakerAfter({ ...brief, probes: 1 });
    const old = [breaker.begin(), breaker.begin()];
    go(...opened);
    breaker.succeeded(old[0]!);
    expect(breaker.state).toBe('open');
    go(1000);
    const probe = breaker.begin();
    breaker.failed(old[1]!);
    expect(breaker.state).toBe('half_open');
    breaker.succeeded(probe);
    expect(breaker.state).toBe('closed');
  });

  it.each([
    ['a share that rises from a tenth to all', 1000, [0.1, 0.55, 1]],
    ['all requests at once where that is configured', 0, [1, 1, 1]],
  ])('gives a provider that has recovered %s', (_, ramp_ms, expected) => {
    const { breaker, go } = breakerAfter({ ...brief, probes: 1, ramp_ms }, ...opened, 1000);
    expect(breaker.share).toBe(1);
    go('succeeds');
    for (const share of expected) {
      expect(breaker.share).toBeCloseTo(share);
      go(500);
    }
  });
});
