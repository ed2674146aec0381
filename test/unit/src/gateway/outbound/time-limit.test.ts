import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { Exchange } from '../../../../../src/gateway/exchange/exchange.ts';
import { beforeTimeLimit, ClientGone } from '../../../../../src/gateway/outbound/time-limit.ts';
import { FakeClock } from '../../../../support/fake-clock.ts';
import { sampleExchange } from '../../../sample-exchange.ts';

const limit_ms = 30_000;
const same = <T>(reply: T): T => reply;
const taking = <T, R>(sendReply: (reply: T) => R, replied: (reply: T) => T = same) => ({
  replied,
  replyFailed: () => {},
  sendReply,
});
let clock: FakeClock;
let exchange: Exchange;

beforeEach(() => {
  jest.useFakeTimers();
  clock = new FakeClock();
  exchange = sampleExchange({ model: {}, start: { clock } });
});
afterEach(() => {
  jest.useRealTimers();
});

describe.each([
  ['ends with its client', false],
  ['outlives its client', true],
] as const)('a reply that %s', (_, outlivesClient) => {
  const limited = <T>(reply: Promise<T>, of: Exchange, ms: number) =>
    beforeTimeLimit(reply, of, ms, outlivesClient, taking(same<T>));

  it('is passed on when it comes in time, and leaves no timer behind', async () => {
    expect(await limited(Promise.resolve('reply'), exchange, limit_ms)).toBe('reply');
    expect([jest.getTimerCount(), exchange.end_reason]).toEqual([0, undefined]);
  });

  it('fails with its own error when it fails in time, and leaves no timer behind', async () => {
    const fault = new Error('broken');
    await expect(limited(Promise.reject(fault), exchange, limit_ms)).rejects.toBe(fault);
    expect([jest.getTimerCount(), exchange.end_reason]).toEqual([0, undefined]);
  });

  it('fails with what is thrown when it is used', async () => {
    const fault = new Error('broken');
    const use = () => {
      throw fault;
    };
    const used = beforeTimeLimit(Promise.resolve('reply'), exchange, limit_ms, outlivesClient, taking(use));
    await expect(used).rejects.toBe(fault);
    expect(jest.getTimerCount()).toBe(0);
  });

  it('fails with what is thrown when its failure is counted', async () => {
    const fault = new Error('not counted');
    const replyFailed = () => {
      throw fault;
    };
    const taker = { ...taking(same<string>), replyFailed };
    const failing = Promise.reject(new Error('broken'));
    const limited = beforeTimeLimit(failing, exchange, limit_ms, outlivesClient, taker);
    await expect(limited).rejects.toBe(fault);
  });

  it('is counted and not sent when it comes after its time limit', async () => {
    const { promise, resolve } = Promise.withResolvers<string>();
    const use = jest.fn();
    const count = jest.fn(same<string>);
    const used = beforeTimeLimit(promise, exchange, limit_ms, outlivesClient, taking(use, count)).catch(
      ({ status }) => status,
    );
    jest.advanceTimersByTime(limit_ms);
    resolve('reply');
    expect(await used).toBe(524);
    expect(use).not.toHaveBeenCalled();
    expect(count).toHaveBeenCalledWith('reply');
  });

  it('is refused with 524 after its time limit, counted from the start of the exchange', async () => {
    clock.advance(10_000);
    let fault: unknown;
    void limited(new Promise(() => {}), exchange, limit_ms).catch(thrown => {
      fault = thrown;
    });
    jest.advanceTimersByTime(19_999);
    await Promise.resolve();
    expect([fault, exchange.end_reason]).toEqual([undefined, undefined]);
    jest.advanceTimersByTime(1);
    for (let turn = 0; turn < 5; turn++) await Promise.resolve();
    expect(fault).toMatchObject({ status: 524, message: expect.stringContaining('within 30 seconds') });
    expect(exchange.end_reason).toBe('time_limit');
  });
});

describe('a client that leaves before its reply', () => {
  it('aborts the exchange when the reply has been read', async () => {
    await beforeTimeLimit(Promise.resolve('reply'), exchange, limit_ms, true, taking(same<string>));
    exchange.clientLeft();
    expect([exchange.aborted, exchange.end_reason]).toEqual([true, 'client_gone']);
  });

  it('ends the wait but not the reply, which is read on for billing', async () => {
    const limited = beforeTimeLimit(new Promise(() => {}), exchange, limit_ms, true, taking(same<unknown>));
    exchange.clientLeft();
    await expect(limited).rejects.toBeInstanceOf(ClientGone);
    expect([exchange.aborted, jest.getTimerCount()]).toEqual([false, 0]);
  });

  it('ends the reply of a model configured to stop', () => {
    exchange.model = { ...exchange.model!, on_client_gone: 'abort' };
    void beforeTimeLimit(new Promise(() => {}), exchange, limit_ms, true, taking(same<unknown>));
    exchange.clientLeft();
    expect(exchange.aborted).toBe(true);
  });
});
