import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { chownSync, globSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createConnection } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { freePort } from './free-port.ts';

const start_ms = 60_000;

/** A PostgreSQL server for one test, on a free loopback port. Its data directory is removed with it. */
export interface PostgresServer {
  /** URL of an empty database that needs no password. */
  readonly url: string;
  /** SIGSTOP to every process of the server: the kernel still accepts connections, but they get no answer. */
  pause(): void;
  resume(): void;
  /** SIGKILL to every process of the server. */
  kill(): Promise<void>;
  /** Starts it again on the same port with the same data. */
  start(): Promise<void>;
  /** A further empty database on this server. */
  createDatabase(name: string): Promise<string>;
  /** Ends the server and removes its data. */
  stop(): Promise<void>;
}

/** Where Debian's packages put the newest PostgreSQL. Throws where there is none: tests need it. */
function binaries(): string {
  const versionOf = (directory: string) => Number(directory.split('/')[4]);
  const [newest] = globSync('/usr/lib/postgresql/*/bin').sort((a, b) => versionOf(b) - versionOf(a));
  if (newest === undefined) throw new Error('PostgreSQL is needed for this test: apt-get install postgresql');
  return newest;
}

/** PostgreSQL refuses to run as root, so root runs it as the user that its package has made. */
function owner(): { uid?: number; gid?: number } {
  if (process.getuid?.() !== 0) return {};
  const id = (flag: string) => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }));
  return { uid: id('-u'), gid: id('-g') };
}

export async function startPostgres(): Promise<PostgresServer> {
  const directory = await mkdtemp(join(tmpdir(), 'sluice-postgres-'));
  const server = new Server(directory, await freePort());
  try {
    server.initialize();
    await server.start();
    return server;
  } catch (error) {
    await server.stop();
    throw error;
  }
}

class Server implements PostgresServer {
  readonly #bin = binaries();
  readonly #owner = owner();
  readonly #directory: string;
  readonly #data: string;
  readonly #port: number;
  #postmaster: ChildProcess | undefined;
  #printed = '';

  constructor(directory: string, port: number) {
    this.#directory = directory;
    this.#data = join(directory, 'data');
    this.#port = port;
  }

  get url(): string {
    return this.#urlOf('postgres');
  }

  initialize(): void {
    const { uid, gid } = this.#owner;
    if (uid !== undefined) chownSync(this.#directory, uid, gid!);
    const options = { ...this.#owner, cwd: this.#directory, stdio: 'pipe' } as const;
    const args = ['-D', this.#data, '-U', 'sluice', '-A', 'trust', '-E', 'UTF8', '--no-sync'];
    execFileSync(join(this.#bin, 'initdb'), args, options);
  }

  async start(): Promise<void> {
    const until_ms = Date.now() + start_ms;
    while (!(await this.#started())) {
      // After SIGKILL the memory of the old server may still be in use for a moment.
      if (Date.now() > until_ms) throw new Error(`PostgreSQL did not start: ${this.#printed}`);
      await sleep(100);
    }
  }

  pause(): void {
    this.#signal('SIGSTOP');
  }

  resume(): void {
    this.#signal('SIGCONT');
  }

  async kill(): Promise<void> {
    const exited = exitOf(this.#postmaster);
    this.#signal('SIGKILL');
    await exited;
  }

  async createDatabase(name: string): Promise<string> {
    const client = new pg.Client({ connectionString: this.url });
    await client.connect();
    await client.query(`CREATE DATABASE ${name}`);
    await client.end();
    return this.#urlOf(name);
  }

  async stop(): Promise<void> {
    this.resume();
    const exited = exitOf(this.#postmaster);
    // SIGINT: no waiting for clients.
    this.#postmaster?.kill('SIGINT');
    await exited;
    await rm(this.#directory, { recursive: true, force: true, maxRetries: 5 });
  }

  async #started(): Promise<boolean> {
    this.#printed = '';
    const settings = ['fsync=off', 'unix_socket_directories=', 'max_connections=60', 'shared_buffers=32MB'];
    const child = spawn(
      join(this.#bin, 'postgres'),
      ['-D', this.#data, '-h', '127.0.0.1', '-p', String(this.#port), ...settings.flatMap(s => ['-c', s])],
      { ...this.#owner, cwd: this.#directory, stdio: ['ignore', 'ignore', 'pipe'] },
    );
    child.stderr.setEncoding('utf8').on('data', text => {
      this.#printed = (this.#printed + text).slice(-4000);
    });
    this.#postmaster = child;
    while (child.exitCode === null && child.signalCode === null) {
      if (/ready to accept connections/.test(this.#printed) && (await this.#accepts())) return true;
      await sleep(20);
    }
    return false;
  }

  #accepts(): Promise<boolean> {
    return new Promise(resolve => {
      const socket = createConnection(this.#port, '127.0.0.1');
      socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
      socket.once('connect', () => socket.destroy());
    });
  }

  /** To the server and all its children, which have sessions of their own. */
  #signal(name: NodeJS.Signals): void {
    const { pid, exitCode, signalCode } = this.#postmaster ?? {};
    if (pid === undefined || exitCode !== null || signalCode !== null) return;
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean);
    for (const each of [pid, ...children.map(Number)]) {
      try {
        process.kill(each, name);
      } catch {
        // Gone since the list was made.
      }
    }
  }

  #urlOf(database: string): string {
    return `postgres://sluice@127.0.0.1:${this.#port}/${database}`;
  }
}

async function exitOf(child: ChildProcess | undefined): Promise<void> {
  if (!child || child.exitCode !== null || child.signalCode !== null) return;
  await new Promise(resolve => child.once('exit', resolve));
}
