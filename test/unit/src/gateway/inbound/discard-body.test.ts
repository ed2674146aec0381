import type { IncomingMessage } from 'node:http';
import { PassThrough } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { discardBody } from '../../../../../src/gateway/inbound/discard-body.ts';

const limits = { max_body_bytes: 1000, body_idle_ms: 30_000, body_timeout_ms: 300_000 };

beforeEach(() => void jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'performance'] }));
afterEach(() => void jest.useRealTimers());

function discarded(elapsed_ms = 0) {
  const request = Object.assign(new PassThrough(), { complete: false });
  discardBody(request as unknown as IncomingMessage, limits, { elapsed_ms });
  /** Lets time pass, and then a piece arrive. */
  const piece = async (after_ms: number, bytes = 1) => {
    jest.advanceTimersByTime(after_ms);
    request.write(Buffer.alloc(bytes));
    await new Promise(resolve => setImmediate(resolve));
  };
  return { request, piece };
}

describe('the rest of an unwanted body', () => {
  it('is read on as long as no pause is too long', async () => {
    const { request, piece } = discarded();
    for (let at = 0; at < 5; at++) await piece(20_000);
    expect(request.destroyed).toBe(false);
    jest.advanceTimersByTime(30_000);
    expect(request.destroyed).toBe(true);
  });

  it('is not read above the largest body', async () => {
    const { request, piece } = discarded();
    await piece(0, 1000);
    expect(request.destroyed).toBe(false);
    await piece(0);
    expect(request.destroyed).toBe(true);
  });

  it.each([
    [0, 300_000],
    [290_000, 10_000],
    [299_500, 1000],
    [400_000, 1000],
  ])(
    'that has taken %d ms is read on for %d ms at most, and has no timers left then',
    async (elapsed_ms, left_ms) => {
      const { request, piece } = discarded(elapsed_ms);
      for (let passed_ms = 0; passed_ms + 20_000 < left_ms; passed_ms += 20_000) await piece(20_000);
      jest.advanceTimersByTime((left_ms - 1) % 20_000);
      expect(request.destroyed).toBe(false);
      jest.advanceTimersByTime(1);
      expect(request.destroyed).toBe(true);
      await new Promise(resolve => setImmediate(resolve));
      expect(jest.getTimerCount()).toBe(0);
    },
  );

  it('is not touched when it has arrived, or its connection is gone', () => {
    for (const more of [{ complete: true }, { destroyed: true }]) {
      const request = { ...more, on: () => expect(more).toBe('touched') };
      discardBody(request as unknown as IncomingMessage, limits);
    }
    expect(jest.getTimerCount()).toBe(0);
  });
});
