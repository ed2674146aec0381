/** Ends what a run has left behind when its process is gone, however it ended. Started by `guard`, as a process of its own. */
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs';

const [, , directory = '', mark = ''] = process.argv;
const turns = 20;

/** Processes with the mark in their environment, or that work in the run's directory: some overwrite their environment with a title. */
function leftovers(): number[] {
  return readdirSync('/proc')
    .map(Number)
    .filter(pid => pid > 0 && pid !== process.pid && isOurs(pid));
}

function isOurs(pid: number): boolean {
  try {
    if (readlinkSync(`/proc/${pid}/cwd`).startsWith(directory)) return true;
    return readFileSync(`/proc/${pid}/environ`, 'latin1').includes(mark);
  } catch {
    return false;
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // Gone since the list was made.
  }
}

function cleanUp(): void {
  for (let turn = 0; turn < turns; turn++) {
    const pids = leftovers();
    if (pids.length === 0) break;
    pids.forEach(kill);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 100);
  }
  const mounts = readFileSync('/proc/mounts', 'utf8').split('\n');
  for (const [, point = ''] of mounts.map(line => line.split(' ')))
    if (point.startsWith(directory)) execFileSync('umount', ['-l', point]);
  rmSync(directory, { recursive: true, force: true, maxRetries: 5 });
  process.exit();
}

process.on('disconnect', cleanUp);
process.send?.('ready');
