import { type SeveralHosts, severalHostsOf } from '../../../src/plugin.ts';

interface Host {
  readonly host: string;
  readonly port: number;
}

interface Login {
  readonly username?: string;
  readonly password?: string;
}

/** Where a Redis is, and how to log in. */
export interface RedisAddress extends Login {
  readonly kind: 'server' | 'cluster' | 'sentinel';
  readonly tls: boolean;
  /** The server, some nodes of the cluster, or the Sentinels. */
  readonly hosts: readonly Host[];
  /** The primary's name in Sentinel; empty elsewhere. */
  readonly name: string;
  readonly database: number;
  /** At the Sentinels themselves. */
  readonly sentinel: Login;
}

const accepted =
  'must be memory, or a URL such as redis://user:password@host:6379/0, rediss://host:6380, redis+cluster://host1:6379,host2:6379 or redis+sentinel://host1:26379,host2:26379/mymaster';

const kinds = { redis: 'server', 'redis+cluster': 'cluster', 'redis+sentinel': 'sentinel' } as const;
const sentinelOptions: readonly string[] = ['sentinel_username', 'sentinel_password'];

/** The address that a URL stands for. Throws an Error that says what must be written otherwise. */
export function redisAddressOf(text: string): RedisAddress {
  const several = severalHostsOf(text);
  const scheme = several?.url.protocol.slice(0, -1).replace('rediss', 'redis') as keyof typeof kinds;
  const kind = kinds[scheme];
  if (!several || !kind || several.url.hostname === '') throw new Error(accepted);
  const { url } = several;
  const hosts = hostsOf(several, kind === 'sentinel' ? 26_379 : 6379);
  if (kind === 'server' && hosts.length > 1)
    throw new Error('names several hosts: write redis+cluster:// or redis+sentinel://');
  return {
    kind,
    tls: url.protocol.startsWith('rediss'),
    hosts,
    ...loginOf(decoded(url.username), decoded(url.password)),
    ...placeOf(url, kind),
    sentinel: loginOf(
      url.searchParams.get('sentinel_username') ?? '',
      url.searchParams.get('sentinel_password') ?? '',
    ),
  };
}

function hostsOf({ url, others }: SeveralHosts, default_port: number): Host[] {
  return [url.host, ...others.split(',').slice(1)].map(text => {
    const one = URL.canParse(`redis://${text}`) ? new URL(`redis://${text}`) : undefined;
    if (!one?.hostname) throw new Error(`'${text}' is not a host with its port, such as 10.0.0.1:6379`);
    return { host: one.hostname.replace(/^\[(.*)\]$/, '$1'), port: Number(one.port || default_port) };
  });
}

function placeOf(url: URL, kind: RedisAddress['kind']): Pick<RedisAddress, 'name' | 'database'> {
  const [first = '', second, ...more] = url.pathname.slice(1).split('/');
  if (url.hash !== '' || more.length > 0) throw new Error(accepted);
  const unknown = [...url.searchParams.keys()].find(
    key => kind !== 'sentinel' || !sentinelOptions.includes(key),
  );
  if (unknown !== undefined) throw new Error(accepted);
  if (kind === 'cluster' && first !== '')
    throw new Error(`has no '/${first}' in a cluster, which has neither numbered databases nor names`);
  if (kind === 'sentinel' && /^\d*$/.test(first))
    throw new Error('must end in the name under which Sentinel knows the primary, such as /mymaster');
  const database = (kind === 'sentinel' ? second : first) ?? '';
  if (!/^\d*$/.test(database) || (kind === 'server' && second !== undefined)) throw new Error(accepted);
  return { name: kind === 'sentinel' ? decoded(first) : '', database: Number(database) };
}

const loginOf = (username: string, password: string): Login => ({
  ...(username !== '' && { username }),
  ...(password !== '' && { password }),
});

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new Error("has a '%' that begins no character: write %25");
  }
}
