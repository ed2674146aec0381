import { fork } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Ensures that no process or file created from now on outlives this process, even after SIGKILL. Returns the directory for its files. */
export async function guard(): Promise<string> {
  const directory = mkdtempSync(join(tmpdir(), 'sluice-chaos-'));
  // PostgreSQL runs as another user.
  chmodSync(directory, 0o755);
  const mark = `SLUICE_CHAOS=${directory}`;
  const file = fileURLToPath(new URL('reaper.ts', import.meta.url));
  // In a group of its own: Ctrl-C is for all of the terminal's.
  const reaper = fork(file, [directory, mark], {
    execArgv: [],
    detached: true,
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  });
  await once(reaper, 'message', { signal: AbortSignal.timeout(30_000) });
  reaper.unref();
  reaper.channel?.unref();
  process.env.TMPDIR = directory;
  process.env.SLUICE_CHAOS = directory;
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));
  return directory;
}
