import type { IncomingMessage, ServerResponse } from 'node:http';
import { parseCookie, stringifySetCookie } from 'cookie';

/** Value of a dashboard cookie; undefined if absent or malformed. */
export function cookieOf({ headers }: IncomingMessage, name: string): string | undefined {
  const value = parseCookie(headers.cookie ?? '')[name];
  return value !== undefined && /^[\w-]{43}$/.test(value) ? value : undefined;
}

/**
 * Sets a cookie, by default for the browser's session; an empty value removes it. Sets no path: browsers then use the page's folder, where
 * the dashboard is mounted, also behind a proxy that mounts it elsewhere.
 */
export function setCookie(
  response: ServerResponse,
  name: string,
  value: string,
  secure: boolean,
  max_age_s?: number,
): void {
  const maxAge = value === '' ? 0 : max_age_s;
  const cookie = { name, value, httpOnly: true, sameSite: 'strict', secure } as const;
  response.appendHeader(
    'set-cookie',
    stringifySetCookie({ ...cookie, ...(maxAge !== undefined && { maxAge }) }),
  );
}
