import type { IncomingMessage } from 'node:http';

/** The client's network address; that of a proxy which is not trusted. At most 64 characters. */
export function addressOf(request: IncomingMessage, trust_proxy: boolean): string {
  const forwarded = trust_proxy ? lastOf(request, 'x-forwarded-for') : undefined;
  return (forwarded ?? request.socket.remoteAddress ?? '').slice(0, 64);
}

/** Last value of a header: the one that the nearest proxy has added. */
export function lastOf({ headers }: IncomingMessage, name: string): string | undefined {
  return [headers[name]].flat().join(',').split(',').at(-1)?.trim() || undefined;
}
