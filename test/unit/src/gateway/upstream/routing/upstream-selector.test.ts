import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Registry } from 'prom-client';
import { UpstreamSelector } from '../../../../../../src/gateway/upstream/routing/upstream-selector.ts';
import { Metrics } from '../../../../../../src/telemetry/metrics.ts';
import { ThrottledLog } from '../../../../../../src/telemetry/throttled-log.ts';
import { sampleExchange } from '../../../../sample-exchange.ts';
import { closeRoutes, fill, type Given, open, pause, routeOver } from '../sample-route.ts';

const limits = { stream_commit_ms: 10_000, non_stream_timeout_ms: 60_000 };
const oneAtATime = { max_concurrent: 1, max_queue: 5, queue_timeout_ms: 2000 };

beforeEach(() => {
  jest.useFakeTimers();
});
afterEach(async () => {
  jest.useRealTimers();
  await closeRoutes();
});

function selectorOver(given: readonly Given[], options: object = {}, stream = true) {
  const setting = routeOver(given, options);
  const exchange = sampleExchange({ request: { stream }, start: { clock: setting.clock } });
  const selector = new UpstreamSelector(exchange, setting.route, {
    metrics: new Metrics(new Registry()),
    outages: new ThrottledLog(setting.clock),
    limits,
  });
  const pass = (ms: number) => {
    setting.clock.advance(ms);
    jest.advanceTimersByTime(ms);
  };
  return { ...setting, exchange, selector, pass, bulkhead: setting.a.provider.bulkhead };
}

describe('a selector that waits for a permit', () => {
  it('gets the permit of the attempt that ends first', async () => {
    const { selector, exchange, a, bulkhead, pass } = selectorOver([{ provider: oneAtATime }]);
    fill(a);
    const found = selector.next();
    pass(300);
    bulkhead.release();
    expect(await found).toMatchObject({ upstream: a });
    expect([bulkhead.in_flight, exchange.upstream_wait_ms, jest.getTimerCount()]).toEqual([1, 300, 0]);
  });

  it('releases its permit when the breaker has opened with the attempt that ended, and tries another', async () => {
    const { selector, a, b, bulkhead } = selectorOver([{ provider: oneAtATime }, { priority: 2 }]);
    fill(a);
    const found = selector.next();
    bulkhead.release();
    open(a);
    expect(await found).toMatchObject({ upstream: b });
    expect(bulkhead.in_flight).toBe(0);
  });

  it('releases its permit when its client has left in the same moment', async () => {
    const { selector, a, bulkhead } = selectorOver([{ provider: oneAtATime }]);
    fill(a);
    const found = selector.next();
    bulkhead.release();
    selector.end();
    await expect(found).rejects.toMatchObject({ why: 'left' });
    expect(bulkhead.in_flight).toBe(0);
  });

  it('leaves the queue when its client leaves', async () => {
    const { selector, exchange, a, bulkhead } = selectorOver([{ provider: oneAtATime }]);
    fill(a);
    const found = selector.next();
    exchange.abort('client_gone');
    await expect(found).rejects.toMatchObject({ why: 'left' });
    expect([bulkhead.queued, bulkhead.in_flight, jest.getTimerCount()]).toEqual([0, 1, 0]);
  });

  it('tries another upstream when no permit is released in time', async () => {
    const { selector, a, b, bulkhead, pass } = selectorOver([{ provider: oneAtATime }, { priority: 2 }]);
    fill(a);
    const found = selector.next();
    pass(2000);
    expect(await found).toMatchObject({ upstream: b });
    expect([bulkhead.queued, bulkhead.in_flight]).toEqual([0, 1]);
  });

  it.each([
    ['until the deadline to start a stream', true, limits.stream_commit_ms],
    ['until the deadline of a whole reply', false, limits.non_stream_timeout_ms],
  ])('waits at most %s', async (_, stream, limit_ms) => {
    const patient = { provider: { ...oneAtATime, queue_timeout_ms: 600_000 } };
    const { selector, a, bulkhead, pass } = selectorOver([patient], {}, stream);
    fill(a);
    pass(1000);
    const found = selector.next();
    pass(limit_ms - 1001);
    await Promise.resolve();
    expect(bulkhead.queued).toBe(1);
    pass(1);
    await expect(found).rejects.toMatchObject({ why: 'full' });
  });

  it('counts the time of a stream from the end of its request', async () => {
    const patient = { provider: { ...oneAtATime, queue_timeout_ms: 600_000 } };
    const { selector, exchange, clock, a, bulkhead, pass } = selectorOver([patient]);
    fill(a);
    pass(5000);
    exchange.received_ms = clock.elapsed_ms();
    const found = selector.next();
    pass(limits.stream_commit_ms - 1);
    await Promise.resolve();
    expect(bulkhead.queued).toBe(1);
    pass(1);
    await expect(found).rejects.toMatchObject({ why: 'full' });
  });
});

describe('a selector that retries the same upstream', () => {
  const retries = { retries_per_upstream: 1, backoff_ms: 100, max_backoff_ms: 100 };
  const failedOnce = (options: object = {}, provider: object = {}) => {
    const setting = selectorOver([{ provider }], { ...retries, ...options });
    setting.selector.failed(setting.a);
    return setting;
  };

  it('waits as long as Retry-After says, and a moment more', async () => {
    const { selector, clock, a, bulkhead, pass } = failedOnce();
    pause(a, 3, clock);
    const found = selector.next();
    pass(3001);
    await Promise.resolve();
    expect(bulkhead.in_flight).toBe(0);
    pass(1);
    expect(await found).toMatchObject({ upstream: a });
  });

  it('does not wait when that would take too long', async () => {
    const { selector, clock, a } = failedOnce();
    pause(a, 10, clock);
    await expect(selector.next()).rejects.toMatchObject({ why: 'time', usable_in_ms: 10_000 });
    expect(jest.getTimerCount()).toBe(0);
  });

  it('stops waiting when its client leaves', async () => {
    const { selector, exchange, bulkhead } = failedOnce();
    const found = selector.next();
    exchange.abort('client_gone');
    await expect(found).rejects.toMatchObject({ why: 'left' });
    expect([bulkhead.in_flight, jest.getTimerCount()]).toEqual([0, 0]);
  });

  it('does not try an upstream whose breaker has opened meanwhile', async () => {
    const { selector, a, bulkhead, pass } = failedOnce();
    const found = selector.next();
    open(a);
    pass(102);
    await expect(found).rejects.toMatchObject({ why: 'unusable' });
    expect(bulkhead.in_flight).toBe(0);
  });

  it('does not take a permit that another attempt has taken meanwhile', async () => {
    const { selector, a, bulkhead, pass } = failedOnce({}, { max_concurrent: 1 });
    const found = selector.next();
    fill(a);
    pass(102);
    await expect(found).rejects.toMatchObject({ why: 'full' });
    expect(bulkhead.in_flight).toBe(1);
  });
});

describe('an alternative upstream', () => {
  it('exists while it is available and the selector has not ended', () => {
    const { selector, a, b } = selectorOver([{}, {}]);
    expect([selector.hasOther(a), selector.hasOther(b)]).toEqual([true, true]);
    selector.failed(b);
    expect([selector.hasOther(a), selector.hasOther(b)]).toEqual([false, true]);
    selector.end();
    expect(selector.hasOther(b)).toBe(false);
  });

  it('excludes one that would have to be awaited', () => {
    const { selector, a, b } = selectorOver([{}, { provider: oneAtATime }]);
    fill(b);
    expect(selector.hasOther(a)).toBe(false);
  });
});
