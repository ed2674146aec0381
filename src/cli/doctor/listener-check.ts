import { once } from 'node:events';
import { createServer } from 'node:net';
import { type Finding, finding } from '../../common/finding.ts';
import { askServer } from '../../mount/provider-check/ask-server.ts';

const { fault, ok } = finding;

/** An address of the configuration, and a path that a sluice answers there. */
export interface Listener {
  readonly name: 'server' | 'admin';
  readonly host: string;
  readonly port: number;
  readonly tls?: unknown;
}

/** Whether this process could listen at the address; if not, whether a sluice does already. */
export async function checkListener(listener: Listener): Promise<Finding[]> {
  const { name, host, port } = listener;
  const thing = `${name} address`;
  const place = `${host}:${port}`;
  const code = await bindFault(host, port);
  if (code === undefined) return [ok(thing, port === 0 ? `${place} takes a free port` : `${place} is free`)];
  if (code === 'EADDRINUSE' && (await isSluice(listener)))
    return [ok(thing, `${place} is held by a running sluice`)];
  const [what, remedy] = reasons[code] ?? [
    `cannot be listened at (${code})`,
    `correct ${name}.host and ${name}.port`,
  ];
  return [fault(thing, `${place} ${what}`, remedy.replaceAll('NAME', name))];
}

const reasons: Readonly<Record<string, readonly [what: string, remedy: string]>> = {
  EADDRINUSE: ['is held by another program', 'end it, or set another NAME.port'],
  EACCES: [
    'may not be listened at by this user',
    'take a NAME.port from 1024 on, or allow it: CAP_NET_BIND_SERVICE',
  ],
  EADDRNOTAVAIL: ['is no address of this machine', 'correct NAME.host; 0.0.0.0 is every address'],
  ENOTFOUND: ['has a name that is not known', 'correct NAME.host'],
};

/** Listens for a moment. The code of the error if that fails. */
async function bindFault(host: string, port: number): Promise<string | undefined> {
  const server = createServer();
  try {
    server.listen({ host, port });
    await once(server, 'listening');
    return undefined;
  } catch (thrown) {
    return (thrown as NodeJS.ErrnoException).code ?? 'unknown';
  } finally {
    server.close();
  }
}

/** By what a sluice answers: its metrics to operators, its two lists of models to everybody. */
async function isSluice({ name, host, port, tls }: Listener): Promise<boolean> {
  const local = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
  const origin = `${tls ? 'https' : 'http'}://${local.includes(':') ? `[${local}]` : local}:${port}`;
  const path = name === 'admin' ? '/metrics' : '/v1/models';
  try {
    const { text } = await askServer(origin + path, { trust_any_certificate: true });
    return name === 'admin' ? text.includes('sluice_') : /^\{"object":"list","data":.*"models":/s.test(text);
  } catch {
    return false;
  }
}
