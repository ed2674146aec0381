import type { IncomingMessage } from 'node:http';

/**
 * Host names that a listener accepts. Protects against DNS rebinding: a page of another site can point its own name at this machine and
 * read the replies; its requests carry that name in `Host`.
 */
export class AllowedHosts {
  readonly #names: ReadonlySet<string>;

  constructor({ host, hosts }: { readonly host: string; readonly hosts: readonly string[] }) {
    this.#names = new Set(['localhost', '127.0.0.1', '[::1]', ...[host, ...hosts].map(nameOf)]);
  }

  /** True also without a Host header, as in HTTP/1.0 health checks: browsers always send one. */
  has({ headers, socket }: IncomingMessage): boolean {
    if (headers.host === undefined) return true;
    const name = nameOf(headers.host);
    return this.#names.has(name) || name === nameOf(socket.localAddress ?? '');
  }
}

/** Normalized name or address without its port. */
function nameOf(host: string): string {
  const lower = host.toLowerCase().replace(/^::ffff:(?=[\d.]+$)/, '');
  const isBareIPv6 = lower.split(':').length > 2 && !lower.startsWith('[');
  return isBareIPv6 ? `[${lower}]` : lower.replace(/:\d*$/, '').replace(/\.$/, '');
}
