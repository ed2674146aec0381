import { setFlagsFromString } from 'node:v8';

/**
 * Options of V8 for a process that serves requests. `npm run bench -- v8` shows what they do: with them the gateway in Express, and without.
 *
 * - V8 learns during startup which code makes long-lived objects, and allocates those in the old generation (pretenuring). The same code
 *   parses the configuration and requests, so whole bodies and replies stayed until a full collection: young collections took 13 ms instead
 *   of 3 ms, and full ones came every few seconds.
 * - Buffers of large replies lie outside of the heap. Every 64 MB of them V8 marked the whole heap, ten times a second under load. Counted
 *   with all other memory, and with earlier young collections, they are freed before that.
 * - Most functions of a gateway run once or twice for a request. V8's usual counts of calls before it compiles one well are made for loops:
 *   a process took twice the CPU for a request until it had served some ten thousand.
 */
export const v8Flags = [
  '--no-allocation-site-pretenuring',
  '--external-memory-accounted-in-global-limit',
  '--minor-gc-task-trigger=40',
  '--invocation-count-for-maglev=200',
  '--invocation-count-for-turbofan=1200',
  '--minimum-invocations-after-ic-update=100',
] as const;

/**
 * Sets these options. To be called in a process of our own before it reads its configuration, and after it has loaded its modules: they cost a
 * command that ends by itself a sixth of its CPU.
 */
export function setV8Flags(): void {
  for (const flag of v8Flags) setFlagsFromString(flag);
}
