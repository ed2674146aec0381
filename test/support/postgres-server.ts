import { execFileSync } from 'node:child_process';
import { chownSync, existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createConnection } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { freePort } from './free-port.ts';
import { PrintingProcess } from './printing-process.ts';
import { pathOf, unprivileged } from './programs.ts';
import { until } from './until.ts';

const start_ms = 15_000;

/** Where a new data directory is kept: `initdb` takes a second of CPU time, a copy a sixth of that. */
const cache = fileURLToPath(new URL('../../node_modules/.cache', import.meta.url));

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
  /** Another database on this server: empty, or a copy of `template`, which must have no open connections. */
  createDatabase(name: string, template?: string): Promise<string>;
  /** Ends the server and removes its data. */
  stop(): Promise<void>;
}

export async function startPostgres(): Promise<PostgresServer> {
  const program = pathOf('postgres');
  const directory = await mkdtemp(join(tmpdir(), 'sluice-postgres-'));
  const server = new Server(program, directory, await freePort());
  try {
    server.initialize();
    await server.start();
    return server;
  } catch (error) {
    await server.stop();
    throw error;
  }
}

/** With owners and rights, without which PostgreSQL does not start. */
const copy = (from: string, to: string): void => void execFileSync('cp', ['-a', from, to]);

class Server implements PostgresServer {
  readonly #program: string;
  readonly #owner = unprivileged();
  readonly #directory: string;
  readonly #data: string;
  readonly #port: number;
  #postmaster: PrintingProcess | undefined;

  constructor(program: string, directory: string, port: number) {
    this.#program = program;
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
    const version = execFileSync(this.#program, ['--version'], { encoding: 'utf8' });
    const kept = join(cache, `postgres-${version.replaceAll(/[^\d.]+/g, '-')}${uid ?? process.getuid?.()}`);
    if (existsSync(kept)) {
      copy(kept, this.#data);
      return;
    }
    const options = { ...this.#owner, cwd: this.#directory, stdio: 'pipe' } as const;
    const args = ['-D', this.#data, '-U', 'sluice', '-A', 'trust', '-E', 'UTF8', '--no-sync'];
    execFileSync(join(dirname(this.#program), 'initdb'), args, options);
    this.#keep(kept);
  }

  /** Unless another process has done so meanwhile. */
  #keep(place: string): void {
    mkdirSync(cache, { recursive: true });
    const beside = mkdtempSync(`${place}-new-`);
    copy(this.#data, join(beside, 'data'));
    try {
      renameSync(join(beside, 'data'), place);
    } catch (error) {
      if (!existsSync(place)) throw error;
    }
    rmSync(beside, { recursive: true });
  }

  async start(): Promise<void> {
    // After SIGKILL the memory of the old server may still be in use for a moment.
    await until(() => this.#started(), start_ms).catch(cause => {
      throw new Error(`PostgreSQL did not start: ${this.#postmaster?.output()}`, { cause });
    });
  }

  pause(): void {
    this.#signal('SIGSTOP');
  }

  resume(): void {
    this.#signal('SIGCONT');
  }

  async kill(): Promise<void> {
    this.#signal('SIGKILL');
    await this.#postmaster?.exited;
  }

  async createDatabase(name: string, template = 'template1'): Promise<string> {
    const client = new pg.Client({ connectionString: this.url });
    await client.connect();
    await client.query(`CREATE DATABASE ${name} TEMPLATE ${template}`);
    await client.end();
    return this.#urlOf(name);
  }

  async stop(): Promise<void> {
    this.resume();
    // No waiting for clients.
    this.#postmaster?.signal('SIGINT');
    await this.#postmaster?.exited;
    await rm(this.#directory, { recursive: true, force: true, maxRetries: 5 });
  }

  async #started(): Promise<boolean> {
    const settings = ['fsync=off', 'unix_socket_directories=', 'max_connections=60', 'shared_buffers=32MB'];
    const postmaster = new PrintingProcess(
      this.#program,
      ['-D', this.#data, '-h', '127.0.0.1', '-p', String(this.#port), ...settings.flatMap(s => ['-c', s])],
      { ...this.#owner, cwd: this.#directory, stdio: ['ignore', 'ignore', 'pipe'] },
    );
    this.#postmaster = postmaster;
    const serves = async () =>
      /ready to accept connections/.test(postmaster.output()) && (await this.#accepts());
    await until(async () => postmaster.hasEnded() || (await serves()), start_ms);
    return !postmaster.hasEnded();
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
    if (!this.#postmaster || this.#postmaster.hasEnded()) return;
    const { pid } = this.#postmaster;
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
