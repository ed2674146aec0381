import type { Entry, Result } from '../../../tools/bench/measurement.ts';

/** What was measured of a contestant that took so many µs of CPU per request in each round. */
export function sampleEntry(name: string, cpu_us: readonly number[]): Entry {
  const contestant = { name, title: name, start: () => Promise.reject(new Error('is not started')) };
  const resultOf = (us: number): Result => ({
    count: 1000,
    seconds: 1,
    cpu_s: us / 1000,
    load_cpu_s: 0.5,
    pace: 1,
    stream_bytes: Number.NaN,
    p50_ms: 1,
    p99_ms: 2,
  });
  return { contestant, requests: cpu_us.map(resultOf), streams: [] };
}
