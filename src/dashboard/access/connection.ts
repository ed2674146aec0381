import type { IncomingMessage } from 'node:http';
import type { TLSSocket } from 'node:tls';

/** Whether the browser's connection is encrypted, as far as is known. */
export function isSecure(request: IncomingMessage & { secure?: boolean }, trust_proxy: boolean): boolean {
  if ((request.socket as TLSSocket).encrypted || request.secure === true) return true;
  return trust_proxy && lastOf(request, 'x-forwarded-proto') === 'https';
}

/** The browser's network address; that of a proxy which is not trusted. */
export function addressOf(request: IncomingMessage, trust_proxy: boolean): string {
  const forwarded = trust_proxy ? lastOf(request, 'x-forwarded-for') : undefined;
  return (forwarded ?? request.socket.remoteAddress ?? '').slice(0, 64);
}

/** Last value of a header: the one that the nearest proxy has added. */
function lastOf({ headers }: IncomingMessage, name: string): string | undefined {
  return [headers[name]].flat().join(',').split(',').at(-1)?.trim() || undefined;
}
