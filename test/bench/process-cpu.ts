import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';

/** Linux counts CPU time in these. */
const ticks_per_second = Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }));

/** Seconds of CPU that a process has used until now: all its threads, and its running children with theirs. */
export function cpuSecondsOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
  // The name before it may contain anything, so fields are counted from its closing bracket.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [utime, stime] = [fields[11], fields[12]];
  let seconds = (Number(utime) + Number(stime)) / ticks_per_second;
  for (const child of childrenOf(pid)) seconds += cpuSecondsOf(child);
  return seconds;
}

function childrenOf(pid: number): number[] {
  return readdirSync(`/proc/${pid}/task`).flatMap(thread =>
    readFileSync(`/proc/${pid}/task/${thread}/children`, 'latin1').split(' ').filter(Boolean).map(Number),
  );
}
