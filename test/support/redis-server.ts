import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from './free-port.ts';
import { PrintingProcess } from './printing-process.ts';
import { pathOf } from './programs.ts';
import type { TlsFiles } from './tls-files.ts';

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
  /** Speak TLS only, to clients and to other servers. */
  readonly tls?: TlsFiles | undefined;
  /** Further arguments, such as `--requirepass`. */
  readonly args?: readonly string[];
}

/** Options of a server, or of a Sentinel, that listens on `port`. */
export const portOptions = (port: number, tls: TlsFiles | undefined): [name: string, value: string][] =>
  tls
    ? [
        ['port', '0'],
        ['tls-port', `${port}`],
        ['tls-cert-file', tls.cert],
        ['tls-key-file', tls.key],
        ['tls-ca-cert-file', tls.cert],
        ['tls-auth-clients', 'no'],
        ['tls-replication', 'yes'],
      ]
    : [['port', `${port}`]];

/** Arguments of redis-cli for such a server. */
export const cliArgs = (port: number, tls: TlsFiles | undefined): string[] => [
  ...['-p', `${port}`],
  ...(tls ? ['--tls', '--cacert', tls.cert] : []),
];

/** Starts one. Throws with all that it has printed when it does not come up. */
export async function startRedis({
  persistent = false,
  tls,
  args = [],
}: RedisOptions = {}): Promise<RedisServer> {
  const program = pathOf('redis-server');
  const directory = await mkdtemp(join(tmpdir(), 'sluice-redis-'));
  const port = await freePort();
  const durability = persistent ? ['--appendonly', 'yes', '--appendfsync', 'always'] : ['--appendonly', 'no'];
  const listening = portOptions(port, tls).flatMap(([name, value]) => [`--${name}`, value]);
  const command = [...listening, '--bind', '127.0.0.1', '--dir', directory, '--save', ''];
  const start = () => started(program, [...command, ...durability, ...args]);
  let server = await start();
  const end = async () => {
    server.signal('SIGKILL');
    await server.exited;
  };
  return {
    url: `${tls ? 'rediss' : 'redis'}://127.0.0.1:${port}`,
    port,
    pause: () => server.signal('SIGSTOP'),
    resume: () => server.signal('SIGCONT'),
    kill: end,
    async restart() {
      await end();
      server = await start();
    },
    cli: (...words) => output('redis-cli', [...cliArgs(port, tls), ...words]),
    async stop() {
      await end();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

async function started(program: string, args: readonly string[]): Promise<PrintingProcess> {
  const server = new PrintingProcess(program, args);
  await server.printed(/Ready to accept connections/);
  return server;
}

async function output(command: string, args: readonly string[]): Promise<string> {
  const program = new PrintingProcess(command, args);
  await program.exited;
  return program.output().trim();
}
