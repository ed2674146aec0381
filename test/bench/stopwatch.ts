import type { Job, Window } from './jobs.ts';
import { cpuSecondsOf } from './process-cpu.ts';

/** Wall and CPU time from now on of the contestant, the upstream and this process. */
export function startStopwatch({ gateway_pid, upstream_pid }: Job): () => Window {
  const read = () => ({
    at_ms: performance.now(),
    gateway_s: gateway_pid === undefined ? undefined : cpuSecondsOf(gateway_pid),
    upstream_s: cpuSecondsOf(upstream_pid),
    own: process.cpuUsage(),
  });
  const from = read();
  return () => {
    const to = read();
    const own = process.cpuUsage(from.own);
    return {
      seconds: (to.at_ms - from.at_ms) / 1000,
      gateway_cpu_s:
        to.gateway_s === undefined || from.gateway_s === undefined
          ? undefined
          : to.gateway_s - from.gateway_s,
      upstream_cpu_s: to.upstream_s - from.upstream_s,
      generator_cpu_s: (own.user + own.system) / 1e6,
    };
  };
}
