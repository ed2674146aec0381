import { execFileSync, fork } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Ensures that no process or file created from now on outlives this process, even after SIGKILL. Returns the directory for its files. */
export async function cleanUpAfterExit(): Promise<string> {
  const directory = mkdtempSync(join(tmpdir(), 'sluice-chaos-'));
  // PostgreSQL runs as another user.
  chmodSync(directory, 0o755);
  // In a process group of its own: Ctrl-C is for all of the terminal's.
  const cleaner = fork(import.meta.filename, [directory], {
    detached: true,
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  });
  await once(cleaner, 'message', { signal: AbortSignal.timeout(30_000) });
  cleaner.unref();
  cleaner.channel?.unref();
  Object.assign(process.env, { TMPDIR: directory, SLUICE_CHAOS: directory });
  return directory;
}

/** Whether a process has the directory in its environment, or works in it: some overwrite their environment with a title. */
function isLeftBy(directory: string, pid: number): boolean {
  try {
    if (readlinkSync(`/proc/${pid}/cwd`).startsWith(directory)) return true;
    return readFileSync(`/proc/${pid}/environ`, 'latin1').includes(`SLUICE_CHAOS=${directory}`);
  } catch {
    return false;
  }
}

function cleanUp(directory: string): void {
  const isLeft = (pid: number) => pid > 0 && pid !== process.pid && isLeftBy(directory, pid);
  for (let turn = 0; turn < 20; turn++) {
    const pids = readdirSync('/proc').map(Number).filter(isLeft);
    if (pids.length === 0) break;
    for (const pid of pids) {
      try {
        process.kill(pid, 'SIGKILL');
      } catch {
        // It has ended since the list was made.
      }
    }
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 100);
  }
  const mounts = readFileSync('/proc/mounts', 'utf8').split('\n');
  for (const [, point = ''] of mounts.map(line => line.split(' ')))
    if (point.startsWith(directory)) execFileSync('umount', ['-l', point]);
  rmSync(directory, { recursive: true, force: true, maxRetries: 5 });
  process.exit();
}

// The process that cleans up once the one that has started it is gone.
if (import.meta.main) {
  process.on('disconnect', () => cleanUp(process.argv[2]!));
  process.send?.('ready');
}
