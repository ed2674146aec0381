import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { availableParallelism, cpus, loadavg, release } from 'node:os';

/** Gateways run here, alone. */
export const gateway_core = 0;
/** The load generator, which is the benchmark itself, and the upstream share this one. */
export const load_core = 1;
/** Above this before the start, other programs take part in the result. */
const quiet_load = 0.5;
/** Linux counts CPU time in these. */
const ticks_per_second = Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }));
const page_bytes = Number(execFileSync('getconf', ['PAGESIZE'], { encoding: 'utf8' }));

/** Where and when a result was made. `load` is how many programs wanted a core in the minute before. */
export const thisMachine = () => ({
  cpu: cpus()[0]?.model ?? 'unknown',
  cores: availableParallelism(),
  kernel: `Linux ${release()}`,
  node: process.version,
  date: new Date().toISOString(),
  load: loadavg()[0] ?? 0,
});
export type Machine = ReturnType<typeof thisMachine>;

export const machineText = ({ cpu, cores, kernel, node, date }: Machine): string =>
  `${cpu}, ${cores} cores, ${kernel}, Node ${node}, ${date}`;

/** Reasons to distrust the numbers. */
export const disturbance = ({ load }: Machine): string[] =>
  load <= quiet_load ? [] : [`the machine was not quiet: load average ${load.toFixed(2)} before the start`];

/** Moves all threads of a process to `cores`. Throws where there is no taskset or no such core. */
export const moveTo = (cores: number | string, pid: number): void =>
  void execFileSync('taskset', ['-acp', String(cores), String(pid)], { stdio: 'ignore' });

/** Seconds of CPU that a process has used until now: all its threads, and its running children with theirs. */
export function cpuSecondsOf(pid: number): number {
  let sum_s = isScheduleShown ? 0 : tickSecondsOf(pid);
  for (const thread of readdirSync(`/proc/${pid}/task`)) {
    const read = (name: string) => readFileSync(`/proc/${pid}/task/${thread}/${name}`, 'latin1');
    if (isScheduleShown) sum_s += Number(read('schedstat').split(' ', 1)[0]) / 1e9;
    for (const child of read('children').split(' ')) if (child !== '') sum_s += cpuSecondsOf(Number(child));
  }
  return sum_s;
}

/** Bytes of memory that a process holds, and its running children with it. */
export function memoryBytesOf(pid: number): number {
  let sum = Number(readFileSync(`/proc/${pid}/statm`, 'latin1').split(' ')[1]) * page_bytes;
  for (const thread of readdirSync(`/proc/${pid}/task`))
    for (const child of readFileSync(`/proc/${pid}/task/${thread}/children`, 'latin1').split(' '))
      if (child !== '') sum += memoryBytesOf(Number(child));
  return sum;
}

/** Whether the kernel shows CPU time in nanoseconds: ticks are of 10 ms, 3 % of what 200 streams take in half a second. */
const isScheduleShown = existsSync('/proc/self/schedstat');

/** The same in ticks, without children. */
function tickSecondsOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
  // The name before it may contain anything, so fields are counted from its closing bracket.
  const [utime, stime] = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .slice(11, 13);
  return (Number(utime) + Number(stime)) / ticks_per_second;
}

/** Begins to measure: the returned function gives the time since then, and the CPU time of the gateway and of its load. */
export function startStopwatch(gateway_pid: number | undefined, upstream_pid: number) {
  const read = () => {
    const { user, system } = process.cpuUsage();
    return {
      seconds: performance.now() / 1000,
      cpu_s: gateway_pid === undefined ? Number.NaN : cpuSecondsOf(gateway_pid),
      /** Of this process and the upstream, which share a core. */
      load_cpu_s: cpuSecondsOf(upstream_pid) + (user + system) / 1e6,
    };
  };
  const from = read();
  return () => {
    const to = read();
    return {
      seconds: to.seconds - from.seconds,
      cpu_s: to.cpu_s - from.cpu_s,
      load_cpu_s: to.load_cpu_s - from.load_cpu_s,
    };
  };
}
