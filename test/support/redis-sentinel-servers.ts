import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from './free-port.ts';
import { PrintingProcess } from './printing-process.ts';
import { pathOf } from './programs.ts';
import { cliArgs, portOptions, type RedisServer, startRedis } from './redis-server.ts';
import type { TlsFiles } from './tls-files.ts';
import { until } from './until.ts';

/** A primary with two replicas, and three Sentinels that watch them, all real. */
export interface RedisSentinelServers {
  /** For `stores.state`. */
  readonly url: string;
  /** The first primary, then its replicas. */
  readonly servers: readonly RedisServer[];
  /** SIGKILL of one Sentinel. */
  killSentinel(at: number): Promise<void>;
  stop(): Promise<void>;
}

export interface SentinelOptions {
  /** Of the servers, by ACL and for replication. */
  readonly password?: string;
  /** Of the Sentinels. */
  readonly sentinel_password?: string;
  /** All of them speak TLS only. */
  readonly tls?: TlsFiles;
}

/** Starts them, and resolves when every Sentinel knows all the others and both replicas. */
export async function startRedisSentinel(options: SentinelOptions = {}): Promise<RedisSentinelServers> {
  const { password, sentinel_password, tls } = options;
  const login = password === undefined ? [] : ['--requirepass', password, '--masterauth', password];
  const fast = ['--repl-diskless-sync-delay', '0', '--repl-ping-replica-period', '1', ...login];
  const primary = await startRedis({ tls, args: fast });
  const following = ['--replicaof', '127.0.0.1', `${primary.port}`];
  const replicas = await Promise.all([0, 1].map(() => startRedis({ tls, args: [...fast, ...following] })));
  const directory = await mkdtemp(join(tmpdir(), 'sluice-sentinel-'));
  const sentinels = await Promise.all(
    [0, 1, 2].map(at => startSentinel(join(directory, `${at}.conf`), primary.port, options)),
  );
  const hosts = sentinels.map(({ port }) => `127.0.0.1:${port}`).join(',');
  const user = password === undefined ? '' : `:${password}@`;
  const query = sentinel_password === undefined ? '' : `?sentinel_password=${sentinel_password}`;
  const servers = [primary, ...replicas];
  const killSentinel = async (at: number) => {
    sentinels[at]!.process.signal('SIGKILL');
    await sentinels[at]!.process.exited;
  };
  const stop = async () => {
    await Promise.all([0, 1, 2].map(killSentinel));
    await Promise.all(servers.map(server => server.stop()));
    await rm(directory, { recursive: true, force: true });
  };
  try {
    await Promise.all(sentinels.map(({ knows }) => until(knows, 30_000)));
  } catch (error) {
    await stop();
    throw error;
  }
  const scheme = tls ? 'rediss' : 'redis';
  return { url: `${scheme}+sentinel://${user}${hosts}/mymaster${query}`, servers, killSentinel, stop };
}

async function startSentinel(file: string, primary: number, options: SentinelOptions) {
  const { password, sentinel_password, tls } = options;
  const port = await freePort();
  const lines = [
    ...portOptions(port, tls).map(option => option.join(' ')),
    'bind 127.0.0.1',
    `sentinel monitor mymaster 127.0.0.1 ${primary} 2`,
    'sentinel down-after-milliseconds mymaster 1000',
    'sentinel failover-timeout mymaster 3000',
    ...(password === undefined ? [] : [`sentinel auth-pass mymaster ${password}`]),
    ...(sentinel_password === undefined
      ? []
      : [`requirepass ${sentinel_password}`, `sentinel sentinel-pass ${sentinel_password}`]),
  ];
  await writeFile(file, lines.join('\n'));
  const process = new PrintingProcess(pathOf('redis-server'), [file, '--sentinel']);
  await process.printed(/\+monitor master/);
  const auth = sentinel_password === undefined ? [] : ['--no-auth-warning', '-a', sentinel_password];
  const knows = async () => {
    const asked = new PrintingProcess('redis-cli', [...cliArgs(port, tls), ...auth, 'INFO', 'sentinel']);
    await asked.exited;
    return /status=ok,.*slaves=2,sentinels=3/.test(asked.output());
  };
  return { port, process, knows };
}
