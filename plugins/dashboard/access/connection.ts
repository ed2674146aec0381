import type { IncomingMessage } from 'node:http';
import type { TLSSocket } from 'node:tls';
import { lastOf } from '../../../src/plugin.ts';

/** Whether the browser's connection is encrypted, as far as is known. */
export function isSecure(request: IncomingMessage & { secure?: boolean }, trust_proxy: boolean): boolean {
  if ((request.socket as TLSSocket).encrypted || request.secure === true) return true;
  return trust_proxy && lastOf(request, 'x-forwarded-proto') === 'https';
}
