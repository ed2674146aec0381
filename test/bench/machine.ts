import { availableParallelism, cpus, loadavg, release } from 'node:os';

/** Above this before the start, other programs take part in the result. */
const quiet_load = 0.5;

/** Where and when a result was made. */
export interface Machine {
  readonly cpu: string;
  readonly cores: number;
  readonly kernel: string;
  readonly node: string;
  readonly date: string;
  /** Programs that wanted a core in the minute before the benchmark began. */
  readonly load: number;
}

export function thisMachine(): Machine {
  return {
    cpu: cpus()[0]?.model ?? 'unknown',
    cores: availableParallelism(),
    kernel: `Linux ${release()}`,
    node: process.version,
    date: new Date().toISOString(),
    load: loadavg()[0] ?? 0,
  };
}

/** Reasons to distrust the numbers. */
export function disturbance({ load }: Machine): string[] {
  if (load <= quiet_load) return [];
  return [`the machine was not quiet: load average ${load.toFixed(2)} before the start`];
}
