import { totalmem } from 'node:os';
import { getHeapStatistics } from 'node:v8';
import { expect, it } from '@jest/globals';
import { Registry } from 'prom-client';
import {
  heapLimit_bytes,
  memoryLimit_bytes,
  registerMemoryLimits,
} from '../../../../src/telemetry/memory-limits.ts';

it.each([
  ["a container's limit below the machine's memory", 512, 512],
  ['the memory of the machine where the container has no limit', 2 ** 64, 8192],
  ['the memory of the machine where no limit is known', 0, 8192],
])('takes %s', (_, limit_bytes, expected) => {
  expect(memoryLimit_bytes(limit_bytes, 8192)).toBe(expected);
});

it('shows the limits of the process once, however many gateways share the registry', async () => {
  const registry = new Registry();
  registerMemoryLimits(registry);
  registerMemoryLimits(registry);
  const shown = async (name: string) => {
    const line = (await registry.metrics()).split('\n').find(text => text.startsWith(`${name} `));
    return Number(line?.split(' ')[1]);
  };
  expect(await shown('sluice_heap_limit_bytes')).toBe(getHeapStatistics().heap_size_limit);
  const memory_bytes = await shown('sluice_memory_limit_bytes');
  expect(memory_bytes).toBeGreaterThan(0);
  expect(memory_bytes).toBeLessThanOrEqual(totalmem());
});

it.each([
  ['', 900],
  ['--max-old-space-size=512 --inspect', 512],
  ['--max_old_space_size=512 --max-old-space-size 256', 256],
  ['--max-old-space-size=4096', 900],
])('takes the limit of the heap from what Node was told, at most V8’s: %j', (options, expected_MiB) => {
  expect(heapLimit_bytes(options, 900 * 1024 * 1024)).toBe(expected_MiB * 1024 * 1024);
});
