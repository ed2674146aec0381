import type { IncomingMessage } from 'node:http';

/**
 * The names by which a listener may be asked. A page of another site can point a name of its own at this machine and read what answers
 * (DNS rebinding); its requests carry that name in `Host`.
 */
export class AllowedHosts {
  readonly #names: ReadonlySet<string>;

  constructor({ host, hosts }: { readonly host: string; readonly hosts: readonly string[] }) {
    this.#names = new Set(['localhost', '127.0.0.1', '[::1]', ...[host, ...hosts].map(nameOf)]);
  }

  /** True also without a Host header, as HTTP/1.0 health checks come: browsers always send one. */
  has({ headers, socket }: IncomingMessage): boolean {
    if (headers.host === undefined) return true;
    const name = nameOf(headers.host);
    return this.#names.has(name) || name === nameOf(socket.localAddress ?? '');
  }
}

/** The name or address without a port, in one form. */
function nameOf(host: string): string {
  const lower = host.toLowerCase().replace(/^::ffff:(?=[\d.]+$)/, '');
  const isBareIPv6 = lower.split(':').length > 2 && !lower.startsWith('[');
  return isBareIPv6 ? `[${lower}]` : lower.replace(/:\d*$/, '').replace(/\.$/, '');
}
