import { isIPv6 } from 'node:net';
import type { ConfigIssue } from '../common/config-error.ts';

interface Listener {
  readonly host: string;
  readonly port: number;
}

/** Reports two listeners at the same address, of which the second could not start. Port 0 takes a free port, so two of them never meet. */
export function* checkListeners({
  server,
  admin,
}: {
  readonly server: Listener;
  readonly admin: Listener;
}): Generator<ConfigIssue> {
  if (server.port === 0 || server.port !== admin.port || !overlaps(server.host, admin.host)) return;
  const message = `is the port of server.port as well, ${server.port}, and admin.host ${admin.host} overlaps server.host ${server.host}; give each listener a port of its own`;
  yield { path: ['admin', 'port'], message };
}

const wildcards = ['', '::', '0.0.0.0'];
const loopback = ['localhost', '127.0.0.1', '::1'];

function overlaps(first: string, second: string): boolean {
  const [one, other] = [first.toLowerCase(), second.toLowerCase()];
  if (one === other) return true;
  // The IPv4 wildcard leaves every IPv6 address free; the IPv6 one takes both.
  const takes = (wide: string, narrow: string) =>
    wildcards.includes(wide) && (wide !== '0.0.0.0' || narrow === '::' || !isIPv6(narrow));
  if (takes(one, other) || takes(other, one)) return true;
  return [one, other].includes('localhost') && loopback.includes(one) && loopback.includes(other);
}
