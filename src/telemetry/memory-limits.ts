import { totalmem } from 'node:os';
import { getHeapStatistics } from 'node:v8';
import type { Registry } from 'prom-client';
import { MetricFactory } from './metric-factory.ts';

/**
 * Bytes of memory that this process may use: the limit of its container, or the machine's memory without one. Without a limit Linux names
 * one of 2^64 bytes, other systems 0.
 */
export function memoryLimit_bytes(
  limit_bytes = process.constrainedMemory(),
  machine_bytes = totalmem(),
): number {
  return limit_bytes > 0 && limit_bytes < machine_bytes ? limit_bytes : machine_bytes;
}

/** What Node was told of V8's old generation, in MiB: on the command line, which wins, or in `NODE_OPTIONS`. */
const oldSpaceFlag = /--max[-_]old[-_]space[-_]size[= ](\d+)/g;

/**
 * V8's limit for the heap, in bytes. Where the operator has set one for the old generation it is that: V8's own figure has the young
 * generation in it, up to 192 MiB more, in which nothing stays.
 */
export function heapLimit_bytes(
  options = `${process.env.NODE_OPTIONS ?? ''} ${process.execArgv.join(' ')}`,
  v8_bytes = getHeapStatistics().heap_size_limit,
): number {
  const told = [...options.matchAll(oldSpaceFlag)].at(-1)?.[1];
  return told === undefined ? v8_bytes : Math.min(v8_bytes, Number(told) * 1024 * 1024);
}

/** Registers the limits of this process, once for each registry. They are read at each scrape: a container can be resized. */
export function registerMemoryLimits(registry: Registry): void {
  const metrics = new MetricFactory(registry);
  const show = (name: string, help: string, read: () => number) => {
    if (!registry.getSingleMetric(name)) metrics.gauge({ name, help, aggregator: 'max' }).read(read);
  };
  show(
    'sluice_memory_limit_bytes',
    "Memory that the process may use: its container's limit, else the machine's memory.",
    memoryLimit_bytes,
  );
  show(
    'sluice_heap_limit_bytes',
    "V8's limit for the JavaScript heap, at which the process ends out of memory.",
    heapLimit_bytes,
  );
}
