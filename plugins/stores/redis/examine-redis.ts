import { type Examination, type Finding, finding, within } from '../../../src/plugin.ts';
import type { RedisAddress } from './redis-address.ts';
import { type Library, type NewClient, serverClient } from './redis-client.ts';
import { sentinelClient } from './sentinel-client.ts';

const { fault, ok, warning } = finding;

const thing = 'state store';
const slow_ms = 50;
const all_slots = 16_384;

/** Looks at a Redis: whether each server answers, how fast, and whether it keeps counters. Writes nothing there. */
export async function examineRedis(address: RedisAddress, how: Examination): Promise<Finding[]> {
  const library = await import('@redis/client').catch(() => undefined);
  if (!library) return [fault(thing, '@redis/client cannot be loaded', 'npm install @redis/client')];
  const { limit_ms } = how;
  if (address.kind === 'cluster') return checkCluster(library, address, how);
  const place = placeOf(address);
  if (address.kind === 'server')
    return asked(library, serverClient(address, limit_ms), place, how, ask => examined(place, ask));
  const named = `${place}, primary ${address.name}`;
  return asked(library, sentinelClient(address, limit_ms), named, how, ask => examined(named, ask));
}

/** The URL without user, password and what is behind the hosts. */
function placeOf({ kind, tls, hosts }: Pick<RedisAddress, 'kind' | 'tls' | 'hosts'>): string {
  const scheme = (tls ? 'rediss' : 'redis') + (kind === 'server' ? '' : `+${kind}`);
  const names = hosts.map(({ host, port }) => `${host.includes(':') ? `[${host}]` : host}:${port}`);
  return `${scheme}://${names.join(',')}`;
}

/** What `examine` finds with a client of its own, or why the server cannot be asked. */
async function asked(
  library: Library,
  newClient: NewClient,
  place: string,
  { limit_ms, messageOf }: Examination,
  examine: (ask: Ask) => Promise<Finding[]>,
): Promise<Finding[]> {
  // What fails is told by the command that fails.
  const client = newClient(library, () => {});
  const late = () => new Error(`no answer within ${limit_ms / 1000} s`);
  try {
    await within(client.connect(), limit_ms, late);
    return await examine((...command) => within(client.send(command), limit_ms, late));
  } catch (thrown) {
    const message = messageOf(thrown);
    return [fault(thing, `${place}: ${message}`, remedyOf(message))];
  } finally {
    client.destroy();
  }
}

function remedyOf(message: string): string {
  if (/WRONGPASS|NOAUTH|NOPERM|invalid password/i.test(message))
    return 'check user and password in stores.state, and the ACL of the user';
  if (/cluster support disabled/.test(message)) return 'it is no cluster: write redis:// in stores.state';
  return 'check stores.state, and that Redis is running and reached from here';
}

/** The first and the last slot, and where their primary is. */
type SlotRange = readonly [from: number, to: number, primary: readonly [host: string, port: number]];

/** Asks the nodes of the configuration for the primaries until one answers, and then each of those. */
async function checkCluster(library: Library, address: RedisAddress, how: Examination): Promise<Finding[]> {
  const findings: Finding[] = [];
  const at = (
    host: RedisAddress['hosts'][number],
    examine: (place: string, ask: Ask) => Promise<Finding[]>,
  ) => {
    const node = { ...address, kind: 'server' as const, hosts: [host] };
    const place = placeOf(node);
    return asked(library, serverClient(node, how.limit_ms), place, how, ask => examine(place, ask));
  };
  for (const host of address.hosts) {
    let ranges: readonly SlotRange[] | undefined;
    const faults = await at(host, async (_, ask) => {
      ranges = (await ask('CLUSTER', 'SLOTS')) as readonly SlotRange[];
      return coverage(ranges, ask);
    });
    findings.push(...faults);
    if (!ranges) continue;
    const primaries = new Map(ranges.map(([, , [name, port]]) => [`${name}:${port}`, { host: name, port }]));
    const each = [...primaries.values()].map(primary => at(primary, (place, ask) => examined(place, ask)));
    return [...findings, ...(await Promise.all(each)).flat()];
  }
  return findings;
}

async function coverage(ranges: readonly SlotRange[], ask: Ask): Promise<Finding[]> {
  const covered = ranges.reduce((sum, [from, to]) => sum + to - from + 1, 0);
  const findings =
    covered === all_slots
      ? []
      : [fault(thing, `${all_slots - covered} slots have no primary`, 'redis-cli --cluster fix')];
  // Managed servers may not tell.
  const setting = await ask('CONFIG', 'GET', 'cluster-require-full-coverage').catch(() => []);
  if (!String(setting).endsWith('yes')) return findings;
  const found =
    'cluster-require-full-coverage is yes: when one primary is lost, the others refuse all accounts';
  return [...findings, warning(thing, found, 'redis-cli config set cluster-require-full-coverage no')];
}

type Ask = (...command: string[]) => Promise<unknown>;

async function examined(place: string, ask: Ask): Promise<Finding[]> {
  // The first one also waits for the connection to be ready.
  await ask('PING');
  const began_ms = performance.now();
  await ask('PING');
  const latency_ms = performance.now() - began_ms;
  const findings = [await scripts(ask)].flat();
  // An ACL may leave it out, which harms nothing.
  const info = await ask('INFO').then(String, () => '');
  const field = (name: string) => new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1];
  const version = field('valkey_version') ?? field('redis_version') ?? 'of unknown version';
  if (field('role') === 'slave')
    findings.push(
      fault(thing, `${place} is a replica, which takes no writes`, 'name the primary in stores.state'),
    );
  const policy = field('maxmemory_policy');
  if (policy !== undefined && policy !== 'noeviction')
    findings.push(
      warning(
        thing,
        `maxmemory-policy is ${policy}: when its memory is full, Redis forgets what accounts have used`,
        'redis-cli config set maxmemory-policy noeviction',
      ),
    );
  const found = `${place}, version ${version}, answers in ${latency_ms.toFixed(1)} ms`;
  if (latency_ms > slow_ms)
    return [warning(thing, found, 'put it nearer: every request waits for it once'), ...findings];
  return findings.some(({ status }) => status === 'fault') ? findings : [ok(thing, found), ...findings];
}

/** Limits are counted by scripts. This one does nothing. */
async function scripts(ask: Ask): Promise<Finding[]> {
  try {
    await ask('EVAL', 'return 1', '0');
    return [];
  } catch (thrown) {
    const { message } = thrown as Error;
    return [
      fault(thing, message.split('\n')[0]!, 'let the user run EVAL and EVALSHA: ACL SETUSER … +@scripting'),
    ];
  }
}
