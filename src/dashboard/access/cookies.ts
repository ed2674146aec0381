import type { IncomingMessage, ServerResponse } from 'node:http';
import { parseCookie, stringifySetCookie } from 'cookie';

/** Value of a dashboard cookie; undefined if absent or malformed. */
export function cookieOf({ headers }: IncomingMessage, name: string): string | undefined {
  const value = parseCookie(headers.cookie ?? '')[name];
  return value !== undefined && /^[\w-]{43}$/.test(value) ? value : undefined;
}

interface Cookie {
  readonly name: string;
  readonly value: string;
  readonly secure: boolean;
  /** Lifetime in seconds; without it, the browser's session. */
  readonly maxAge?: number;
}

/** Sets a cookie without a path: browsers then use the page's folder, where the dashboard is mounted, also behind a proxy that mounts it elsewhere. */
export const setCookie = (response: ServerResponse, cookie: Cookie): unknown =>
  response.appendHeader('set-cookie', stringifySetCookie({ ...cookie, httpOnly: true, sameSite: 'strict' }));
