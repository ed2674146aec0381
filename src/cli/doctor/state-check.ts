import { within } from '../../stores/within.ts';
import { ask_ms, noAnswer } from '../ask-server.ts';
import { type Finding, fault, faultOf, ok, warning } from './finding.ts';

const thing = 'state store';
const slow_ms = 50;

/** Looks at the Redis of `stores.state`: whether it answers, how fast, and whether it keeps counters. Writes nothing there. */
export async function checkState(state: string): Promise<Finding[]> {
  if (state === 'memory') return [ok(thing, 'memory: limits hold for this process alone')];
  const { host, protocol } = new URL(state);
  const place = `${protocol}//${host}`;
  const library = await import('@redis/client').catch(() => undefined);
  if (!library) return [fault(thing, '@redis/client cannot be loaded', 'npm install @redis/client')];
  const client = library.createClient({
    url: state,
    RESP: 2,
    socket: { reconnectStrategy: false, connectTimeout: ask_ms },
    disableClientInfo: true,
    maintNotifications: 'disabled',
  });
  // What fails is told by the command that fails.
  client.on('error', () => {});
  const late = () => new Error(`no answer within ${ask_ms / 1000} s`);
  try {
    await within(client.connect(), ask_ms, late);
    const ask = (...command: string[]) => within(client.sendCommand(command), ask_ms, late);
    return await examined(place, ask);
  } catch (thrown) {
    const { message } = noAnswer(thrown, { protocol: 'redis:' });
    const remedy = /WRONGPASS|NOAUTH|NOPERM|invalid password/i.test(message)
      ? 'check user and password in stores.state, and the ACL of the user'
      : 'check stores.state, and that Redis is running and reached from here';
    return [fault(thing, `${place}: ${message}`, remedy)];
  } finally {
    client.destroy();
  }
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
    return [faultOf(thing, thrown, 'let the user run EVAL and EVALSHA: ACL SETUSER … +@scripting')];
  }
}
