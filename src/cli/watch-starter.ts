import { readFileSync } from 'node:fs';

const look_ms = 500;

/**
 * Sends this process SIGTERM when the npm or npx that has started it has ended. npm passes its own signals on to the shell of a script
 * alone, and a shell that ends leaves the process below it running; a npm that is killed passes on nothing. No event tells of either.
 */
export function watchStarter(environment: Readonly<Record<string, string | undefined>>): void {
  // Not other scripts: one may start a gateway in the background, which is to outlive it.
  if (environment.npm_lifecycle_event !== 'start' && environment.npm_command !== 'exec') return;
  const starters = startersNow();
  const timer = setInterval(() => {
    if (startersNow() === starters) return;
    clearInterval(timer);
    process.kill(process.pid, 'SIGTERM');
  }, look_ms).unref();
}

/** The parent of this process, and the parent's own if it is the shell of a script: some shells stay, others become this process. */
function startersNow(): string {
  const { ppid } = process;
  try {
    const stat = readFileSync(`/proc/${ppid}/stat`, 'utf8');
    // The name may have spaces and parentheses in it.
    const name = stat.slice(stat.indexOf('(') + 1, stat.lastIndexOf(')'));
    const [, above] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return shells.has(name) ? `${ppid} ${above}` : `${ppid}`;
  } catch {
    // Not Linux, where the shells that stay are.
    return `${ppid}`;
  }
}

const shells: ReadonlySet<string> = new Set(['sh', 'dash', 'ash', 'bash', 'busybox']);
