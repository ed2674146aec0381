import { afterEach, expect, it } from '@jest/globals';
import { Registry } from 'prom-client';
import { watchEventLoop } from '../../../../src/telemetry/event-loop-delay.ts';
import { until } from '../../../support/until.ts';

const ends: (() => void)[] = [];
afterEach(() => {
  for (const end of ends.splice(0)) end();
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
  const { bucket, blocks } = watched();
  // Node measures from one look to the next: the first must have been.
  await until(async () => (await bucket('+Inf')) > 0);
  const before = await blocks();
  block(500);
  await until(async () => (await blocks()) > before);
  const seen = await blocks();
  expect(await blocks()).toBeGreaterThanOrEqual(seen);
});

it('counts each second once for all gateways of a registry, until the last has closed', async () => {
  const { registry, bucket } = watched();
  const endOther = watchEventLoop(registry);
  await until(async () => (await bucket('+Inf')) > 0);
  expect(await bucket('+Inf')).toBe(1);
  endOther();
  await until(async () => (await bucket('+Inf')) > 1);
});
