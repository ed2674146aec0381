import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { TLSSocket } from 'node:tls';
import { parseCookie, stringifySetCookie } from 'cookie';
import { lastOf } from '../../../src/plugin.ts';

/** Value of a dashboard cookie; undefined if absent or malformed. */
export function cookieOf({ headers }: IncomingMessage, name: string): string | undefined {
  const value = parseCookie(headers.cookie ?? '')[name];
  return value !== undefined && /^[\w-]{43}$/.test(value) ? value : undefined;
}

interface Cookie {
  readonly name: string;
  readonly value: string;
  readonly secure: boolean;
  /** Lifetime in seconds; without it, the browser's session; 0 removes it. */
  readonly maxAge?: number;
  /** `lax` also comes along when another site leads here. */
  readonly sameSite?: 'strict' | 'lax';
}

/** Sets a cookie without a path: browsers then use the page's folder, where the dashboard is mounted, also behind a proxy that mounts it elsewhere. */
export const setCookie = (response: ServerResponse, cookie: Cookie): unknown =>
  response.appendHeader('set-cookie', stringifySetCookie({ sameSite: 'strict', ...cookie, httpOnly: true }));

/** The name of the hidden field that every form has. */
export const token_field = 'form_token';

/**
 * CSRF token for the forms that are shown to the browser with `cookie`: valid at all instances, and of no use for finding the cookie. It looks
 * different each time, since pages are compressed: what stays the same beside text of the reader could be guessed from their sizes.
 */
export function formTokenOf(cookie: string): string {
  const mask = randomBytes(token_bytes);
  return Buffer.concat([mask, masked(bareTokenOf(cookie), mask)]).toString('base64url');
}

/** Whether a form has the token of the browser with `cookie`. */
export function isFormToken(cookie: string, given: string | null): boolean {
  const token = Buffer.from(given ?? '', 'base64url');
  if (cookie === '' || token.length !== 2 * token_bytes) return false;
  const bare = masked(token.subarray(token_bytes), token.subarray(0, token_bytes));
  return timingSafeEqual(bare, bareTokenOf(cookie));
}

const token_bytes = 32;

const bareTokenOf = (cookie: string): Buffer => createHmac('sha256', cookie).update('form token').digest();

const masked = (bytes: Buffer, mask: Buffer): Buffer =>
  Buffer.from(bytes.map((byte, at) => byte ^ mask[at]!));

/**
 * Whether a form was sent by a page of this host: by `Sec-Fetch-Site`, which browsers send on connections that they trust, otherwise by
 * `Origin`.
 */
export function isSameOrigin({ headers }: IncomingMessage): boolean {
  const { origin, host } = headers;
  const site = headers['sec-fetch-site'];
  if (site !== undefined) return site === 'same-origin';
  return origin !== undefined && URL.canParse(origin) && new URL(origin).host === host?.toLowerCase();
}

/** Whether the browser's connection is encrypted, as far as is known. */
export function isSecure(request: IncomingMessage & { secure?: boolean }, trust_proxy: boolean): boolean {
  if ((request.socket as TLSSocket).encrypted || request.secure === true) return true;
  return trust_proxy && lastOf(request, 'x-forwarded-proto') === 'https';
}
