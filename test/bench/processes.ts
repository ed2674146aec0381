import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

/** Gateways run here, alone. */
export const gateway_core = 0;
/** The load generator, the upstream and the benchmark itself share this one. */
export const load_core = 1;

const patience_ms = 20_000;
const kept_characters = 2000;

export interface Child {
  readonly pid: number;
  /** The next message it sends. Rejects with what it has printed when it ends instead, or takes longer than `within_ms`. */
  message<T>(within_ms?: number): Promise<T>;
  /** The first match of `pattern` in what it prints. */
  printed(pattern: RegExp): Promise<RegExpExecArray>;
  send(message: object): void;
}

const running = new Set<ChildProcess>();
// Not SIGKILL, which would leave nginx's workers behind.
const stopAll = () => running.forEach(child => void child.kill('SIGTERM'));
process.on('exit', stopAll);

/** Moves this process to `core`. Throws where there is no taskset or no such core. */
export const pinSelf = (core: number): void =>
  void execFileSync('taskset', ['-cp', String(core), String(process.pid)], { stdio: 'ignore' });

/** A file of the benchmark on one core, with messages to and from it. */
export const startOwn = (core: number, file: string, args: readonly string[] = []): Child =>
  start(core, process.execPath, [
    '--conditions=sluice-source',
    fileURLToPath(new URL(file, import.meta.url)),
    ...args,
  ]);

/** Starts `command` on one core, in an environment that has nothing of ours but paths, and `variables`. It ends with this process. */
export function start(
  core: number,
  command: string,
  args: readonly string[],
  variables: Readonly<Record<string, string>> = {},
): Child {
  const { PATH, HOME } = process.env;
  const env = { PATH, HOME, NODE_ENV: 'production', ...variables };
  const child = spawn('taskset', ['-c', String(core), command, ...args], {
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    env,
  });
  running.add(child);
  child.once('exit', () => running.delete(child));
  let output = '';
  for (const stream of [child.stdout!, child.stderr!])
    stream.setEncoding('utf8').on('data', (text: string) => {
      output = (output + text).slice(-kept_characters);
    });
  const failed = async (within_ms: number, signal: AbortSignal): Promise<never> => {
    const time = AbortSignal.any([signal, AbortSignal.timeout(within_ms)]);
    await once(child, 'exit', { signal: time }).catch(() => {});
    throw new Error(`no answer: ${output.trim() || 'no output'}`);
  };
  const unlessItEnds = async <T>(
    within_ms: number,
    wait: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> => {
    const over = new AbortController();
    try {
      return await Promise.race([wait(over.signal), failed(within_ms, over.signal)]);
    } finally {
      over.abort();
    }
  };
  return {
    pid: child.pid ?? 0,
    send: message => void child.send(message),
    message: (within_ms = patience_ms) =>
      unlessItEnds(within_ms, async signal => (await once(child, 'message', { signal }))[0]),
    printed: pattern =>
      unlessItEnds(patience_ms, async signal => {
        for (;;) {
          const match = pattern.exec(output);
          if (match) return match;
          await once(child.stdout!, 'data', { signal });
        }
      }),
  };
}
