import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { healthCheckSchema } from '../../../../../../src/config/provider-schema.ts';
import { type CallOwner, UpstreamCall } from '../../../../../../src/gateway/upstream/http/upstream-call.ts';
import { HealthCheck } from '../../../../../../src/gateway/upstream/routing/health-check.ts';

const config = healthCheckSchema.parse({ path: '/health', unhealthy_after: 2, healthy_after: 2 });
const controller = { abort() {}, pause() {}, resume() {}, paused: false } as never;

let asked: { path: string; call: UpstreamCall }[];
let changes: boolean[];
let check: HealthCheck;

beforeEach(() => {
  jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask'] });
  asked = [];
  changes = [];
  const ask = (path: string, owner: CallOwner) => {
    const call = new UpstreamCall(owner);
    asked.push({ path, call });
    return call;
  };
  check = new HealthCheck(config, ask, healthy => void changes.push(healthy));
});
afterEach(() => {
  check.close();
  jest.useRealTimers();
});

const settled = async () => {
  for (let turn = 0; turn < 5; turn++) await new Promise(setImmediate);
};

/** Lets the next check happen and answers it. */
async function answered(status: number): Promise<void> {
  for (const before = asked.length; asked.length === before; ) await jest.advanceTimersToNextTimerAsync();
  const { call } = asked.at(-1)!;
  call.onResponseStart(controller, status, {});
  call.onResponseEnd();
  await settled();
}

describe('the health check of a server', () => {
  it('changes its verdict after the configured number of equal results in a row, both ways', async () => {
    check.start();
    for (const [status, healthy] of [
      [503, true],
      [200, true],
      [300, true],
      [500, false],
      [299, false],
      [404, false],
      [200, false],
      [204, true],
    ] as const) {
      await answered(status);
      expect([status, check.healthy]).toEqual([status, healthy]);
    }
    expect(changes).toEqual([false, true]);
    expect(new Set(asked.map(({ path }) => path))).toEqual(new Set(['/health']));
  });

  it('fails when the server does not answer in time', async () => {
    check.start();
    for (let round = 0; round < 2; round++) {
      await jest.advanceTimersToNextTimerAsync();
      expect(check.healthy).toBe(true);
      await jest.advanceTimersByTimeAsync(config.timeout_ms);
    }
    expect(check.healthy).toBe(false);
  });

  it('runs about every ten seconds, the first time at once', async () => {
    check.start();
    await answered(200);
    expect(asked).toHaveLength(1);
    await jest.advanceTimersByTimeAsync(8_999);
    expect(asked).toHaveLength(1);
    await jest.advanceTimersByTimeAsync(2_001);
    expect(asked).toHaveLength(2);
  });

  it('stops for good, even after an answer that was awaited', async () => {
    check.start();
    await jest.advanceTimersToNextTimerAsync();
    check.close();
    await settled();
    await jest.advanceTimersByTimeAsync(60_000);
    expect([asked.length, jest.getTimerCount(), check.healthy]).toEqual([1, 0, true]);
  });
});

describe('a reply awaited during health checks', () => {
  it('is notified once when the server is found unhealthy', async () => {
    const told = jest.fn();
    const reply = Promise.withResolvers<string>();
    const during = check.during(reply.promise, told);
    check.start();
    await answered(503);
    expect(told).not.toHaveBeenCalled();
    await answered(503);
    await answered(503);
    expect(told).toHaveBeenCalledTimes(1);
    reply.resolve('reply');
    expect(await during).toBe('reply');
  });

  it('is notified at once when the server is unhealthy already', async () => {
    check.start();
    await answered(503);
    await answered(503);
    const told = jest.fn();
    await check.during(Promise.resolve(), told);
    expect(told).toHaveBeenCalledTimes(1);
  });

  it('is not notified once it has come or failed', async () => {
    const told = jest.fn();
    await check.during(Promise.resolve(), told);
    await expect(check.during(Promise.reject(new Error('broken')), told)).rejects.toThrow('broken');
    check.start();
    await answered(503);
    await answered(503);
    expect(told).not.toHaveBeenCalled();
  });
});
