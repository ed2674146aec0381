import { chmodSync, closeSync, openSync, statSync } from 'node:fs';
import type { Log } from '../../telemetry/log.ts';

const owner_only = 0o600;
const others = 0o077;

/** Makes an empty file that only its owner may read and write, whatever the umask. Does nothing if the file exists, or its folder does not. */
export function makePrivateFile(path: string): void {
  try {
    closeSync(openSync(path, 'wx', owner_only));
    chmodSync(path, owner_only);
  } catch {
    // SQLite opens it next, and says what is wrong with the path.
  }
}

/** Logs which files of a SQLite database other users of the machine may read or write; the modes of existing files are not changed. */
export function warnOfSharedFiles(path: string, log: Log): void {
  // Windows has no such modes.
  if (process.platform === 'win32') return;
  for (const file of [path, `${path}-wal`, `${path}-shm`]) {
    const mode = statSync(file, { throwIfNoEntry: false })?.mode ?? 0;
    if (mode & others)
      log.warn(
        { file, mode: (mode & 0o777).toString(8) },
        `other users of this machine may use ${file}, which has accounts and usage: chmod 600 it`,
      );
  }
}
