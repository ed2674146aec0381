import { availableParallelism } from 'node:os';
import { heapLimit_bytes, memoryLimit_bytes } from '../../telemetry/memory-limits.ts';
import type { BodyLimits } from './body-limits.ts';

/** Most memory that request bodies may take at a time, in bytes. */
export interface BufferLimits {
  readonly total_bytes: number;
  /** Of each account; requests without an account share one. */
  readonly account_bytes: number;
}

type Options = Pick<
  BodyLimits,
  'max_body_bytes' | 'max_buffered_bytes' | 'max_buffered_bytes_per_account'
> & {
  /** Processes that share the memory of the container. */
  readonly workers?: number | 'auto';
};

/** Memory of this process and of its container, in bytes. */
interface Memory {
  readonly heap_bytes: number;
  readonly container_bytes: number;
}

const memoryNow = (): Memory => ({ heap_bytes: heapLimit_bytes(), container_bytes: memoryLimit_bytes() });

/** What a process takes beside bodies: our code, the copies of the one that is being parsed or encoded, and what V8 has not collected. */
const process_bytes = 256 * 1024 * 1024;

/** A body takes up to three times its size, more with many small values, and large ones are kept to three quarters of a limit. */
const least_share_factor = 5;

/**
 * The limits of one process: as configured, else half of its heap, at most a third of what its share of the container leaves to bodies:
 * V8 collects late, and buffers are outside of the heap. An account may take a quarter, and in any case one largest body.
 */
export function bufferLimits(options: Options, memory: Memory = memoryNow()): BufferLimits {
  const { max_body_bytes, workers = 1 } = options;
  const share_bytes = memory.container_bytes / (workers === 'auto' ? availableParallelism() : workers);
  const left_bytes = Math.max((share_bytes - process_bytes) / 3, share_bytes / 8);
  const total_bytes = options.max_buffered_bytes ?? Math.floor(Math.min(memory.heap_bytes / 2, left_bytes));
  const own_bytes = Math.floor(Math.max(total_bytes / 4, least_share_factor * max_body_bytes));
  const account_bytes = options.max_buffered_bytes_per_account ?? Math.min(total_bytes, own_bytes);
  return { total_bytes, account_bytes };
}
