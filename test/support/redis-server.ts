import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from './free-port.ts';

const start_ms = 15_000;

/** A real redis-server on a free port of 127.0.0.1, with its files in a folder of its own. */
export interface RedisServer {
  readonly url: string;
  readonly port: number;
  /** SIGSTOP: its connections stay open and nothing is answered. */
  pause(): void;
  /** SIGCONT. */
  resume(): void;
  /** SIGKILL; nothing is saved but what `persistent` has written. */
  kill(): Promise<void>;
  /** On the same port again, after `kill`. */
  restart(): Promise<void>;
  /** What `redis-cli ARGUMENTS` prints. */
  cli(...args: readonly string[]): Promise<string>;
  /** Ends it and removes its files. May be called again. */
  stop(): Promise<void>;
}

export interface RedisOptions {
  /** Keep data over a restart, every write at once. */
  readonly persistent?: boolean;
  /** Further arguments, such as `--requirepass`. */
  readonly args?: readonly string[];
}

/** Starts one. Throws with all that it has printed when it does not come up. */
export async function startRedis({ persistent = false, args = [] }: RedisOptions = {}): Promise<RedisServer> {
  const directory = await mkdtemp(join(tmpdir(), 'sluice-redis-'));
  const port = await freePort();
  const durability = persistent ? ['--appendonly', 'yes', '--appendfsync', 'always'] : ['--appendonly', 'no'];
  const command = ['--port', `${port}`, '--bind', '127.0.0.1', '--dir', directory, '--save', ''];
  const start = () => started([...command, ...durability, ...args]);
  let child = await start();
  const end = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exited = new Promise(resolve => child.once('exit', resolve));
    child.kill('SIGKILL');
    await exited;
  };
  return {
    url: `redis://127.0.0.1:${port}`,
    port,
    pause: () => void child.kill('SIGSTOP'),
    resume: () => void child.kill('SIGCONT'),
    kill: end,
    async restart() {
      await end();
      child = await start();
    },
    cli: (...words) => output('redis-cli', ['-p', `${port}`, ...words]),
    async stop() {
      await end();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

function started(args: readonly string[]): Promise<ChildProcess> {
  const child = spawn('redis-server', args, { stdio: ['ignore', 'pipe', 'pipe'] });
  let printed = '';
  return new Promise((resolve, reject) => {
    const fail = (why: string) => {
      clearTimeout(timer);
      child.kill('SIGKILL');
      reject(new Error(`redis-server ${why}; it printed: ${printed}`));
    };
    const timer = setTimeout(() => fail('did not come up'), start_ms);
    const read = (chunk: Buffer) => {
      printed += chunk;
      if (!printed.includes('Ready to accept connections')) return;
      clearTimeout(timer);
      resolve(child);
    };
    child.stdout.on('data', read);
    child.stderr.on('data', read);
    child.once('error', error => fail(`cannot be started (${error.message})`));
    child.once('exit', code => fail(`exited with ${code}`));
  });
}

function output(command: string, args: readonly string[]): Promise<string> {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  let text = '';
  child.stdout.on('data', chunk => (text += chunk));
  child.stderr.on('data', chunk => (text += chunk));
  return new Promise((resolve, reject) => {
    child.once('error', reject).once('close', () => resolve(text.trim()));
  });
}
