import { type ChildProcess, execFileSync, type StdioOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as after } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

/** Gateways run here, alone. */
export const gateway_core = 0;
/** The load generator, the upstream and the benchmark itself share this one. */
export const load_core = 1;

const start_patience_ms = 20_000;
const stop_patience_ms = 3000;
const kept_characters = 2000;

/** A process on one core. */
export interface Child {
  readonly pid: number;
  /** The next message it sends. Rejects when it ends instead, or takes longer than `patience_ms`. */
  message(patience_ms?: number): Promise<unknown>;
  /** The first match of `pattern` in what it prints. */
  printed(pattern: RegExp): Promise<RegExpExecArray>;
  send(message: object): void;
}

/** Of the environment. */
export type Variables = Readonly<Record<string, string>>;

/** Every process that the benchmark starts; none outlives it. */
export class Children {
  readonly #running = new Set<ChildProcess>();

  constructor() {
    process.on('exit', () => {
      // Not SIGKILL, which would leave nginx's workers behind.
      for (const child of this.#running) child.kill('SIGTERM');
    });
  }

  /** Starts `command` on one core, in an environment that has nothing of ours but paths, and `variables`. */
  start(core: number, command: string, args: readonly string[], variables: Variables = {}): Child {
    return this.#start(core, command, args, ['ignore', 'pipe', 'pipe'], variables);
  }

  /** Starts a file of the benchmark on one core, with messages to and from it. It ends when this process does. */
  startOwn(core: number, file: string, args: readonly string[] = [], variables: Variables = {}): Child {
    const path = fileURLToPath(new URL(file, import.meta.url));
    const stdio: StdioOptions = ['ignore', 'pipe', 'pipe', 'ipc'];
    return this.#start(core, process.execPath, [path, ...args], stdio, variables);
  }

  #start(
    core: number,
    command: string,
    args: readonly string[],
    stdio: StdioOptions,
    variables: Variables,
  ): Child {
    const { PATH, HOME } = process.env;
    const env = { PATH, HOME, NODE_ENV: 'production', ...variables };
    const child = spawn('taskset', ['-c', String(core), command, ...args], { stdio, env });
    this.#running.add(child);
    child.once('exit', () => this.#running.delete(child));
    return childOf(child);
  }

  /** Asks all to end, and makes those that do not. */
  async stop(): Promise<void> {
    await Promise.all([...this.#running].map(end));
  }
}

/** Moves this process to `core`. Throws where there is no taskset or no such core. */
export function pinSelf(core: number): void {
  execFileSync('taskset', ['-cp', String(core), String(process.pid)], { stdio: 'ignore' });
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const kill = setTimeout(() => child.kill('SIGKILL'), stop_patience_ms);
  const exited = once(child, 'exit');
  if (child.connected) child.disconnect();
  child.kill('SIGTERM');
  await exited;
  clearTimeout(kill);
}

function childOf(child: ChildProcess): Child {
  let output = '';
  const keep = (text: string) => {
    output = (output + text).slice(-kept_characters);
  };
  child.stdout?.setEncoding('utf8').on('data', keep);
  child.stderr?.setEncoding('utf8').on('data', keep);
  child.on('error', error => keep(error.message));

  /** `until`, or an error with what the process printed, when it ends or time is up. */
  async function unlessItEnds<T>(
    patience_ms: number,
    until: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const over = new AbortController();
    const why = Promise.race([
      once(child, 'exit', over).then(() => 'it has ended'),
      after(patience_ms, `nothing for ${patience_ms / 1000} s`, over),
    ]);
    const failed = why.then(text => Promise.reject(new Error(`${text}: ${output.trim() || 'no output'}`)));
    try {
      return await Promise.race([until(over.signal), failed]);
    } finally {
      failed.catch(() => {});
      over.abort();
    }
  }

  return {
    pid: child.pid ?? 0,
    send: message => void child.send(message),
    message: (patience_ms = start_patience_ms) =>
      unlessItEnds(patience_ms, async signal => (await once(child, 'message', { signal }))[0]),
    printed: pattern =>
      unlessItEnds(start_patience_ms, async signal => {
        let match = pattern.exec(output);
        while (!match) {
          await once(child.stdout!, 'data', { signal });
          match = pattern.exec(output);
        }
        return match;
      }),
  };
}
