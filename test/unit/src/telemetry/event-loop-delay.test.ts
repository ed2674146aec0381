import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { Registry } from 'prom-client';
import { watchEventLoop } from '../../../../src/telemetry/event-loop-delay.ts';
import { until } from '../../../support/until.ts';

const ends: (() => void)[] = [];
beforeEach(() => {
  const doNotFake = [
    'setTimeout',
    'clearTimeout',
    'setImmediate',
    'nextTick',
    'performance',
    'Date',
  ] as const;
  jest.useFakeTimers({ doNotFake: [...doNotFake] });
});
afterEach(() => {
  for (const end of ends.splice(0)) end();
  expect(jest.getTimerCount()).toBe(0);
  jest.useRealTimers();
});

function watched() {
  const registry = new Registry();
  ends.push(watchEventLoop(registry));
  const bucket = async (le: string) => {
    const text = await registry.metrics();
    return Number(new RegExp(`_bucket\\{le="${le.replace('+', '\\+')}"\\} (\\d+)`).exec(text)?.[1]);
  };
  return { registry, bucket, blocks: async () => (await bucket('+Inf')) - (await bucket('0.25')) };
}

function block(ms: number): void {
  const end_ms = performance.now() + ms;
  while (performance.now() < end_ms);
}

it('shows one block of half a second at every scrape after it, whoever has scraped before', async () => {
  const { blocks } = watched();
  const before = await blocks();
  let turn = 0;
  await until(async () => {
    // Node measures from one look to the next: one must have been since the last second, and one after the block.
    if (turn++ % 2 === 0) block(500);
    else jest.advanceTimersByTime(1000);
    return (await blocks()) > before;
  });
  const seen = await blocks();
  expect(await blocks()).toBeGreaterThanOrEqual(seen);
});

it('counts each second once for all gateways of a registry, until the last has closed, and anew after that', async () => {
  const { registry, bucket } = watched();
  const counts: number[] = [];
  const second = async () => {
    jest.advanceTimersByTime(1000);
    counts.push(await bucket('+Inf'));
  };
  const endOther = watchEventLoop(registry);
  await second();
  endOther();
  await second();
  ends.splice(0)[0]!();
  await second();
  ends.push(watchEventLoop(registry));
  await second();
  expect(counts).toEqual([1, 2, 2, 3]);
});
