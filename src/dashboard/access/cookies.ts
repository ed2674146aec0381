import type { IncomingMessage, ServerResponse } from 'node:http';

/** The value of a cookie that the browser sent, if it has the form of one that was made here. */
export function cookieOf({ headers }: IncomingMessage, name: string): string | undefined {
  const found = headers.cookie?.split('; ').find(cookie => cookie.startsWith(`${name}=`));
  const value = found?.slice(name.length + 1);
  return value !== undefined && /^[\w-]{43}$/.test(value) ? value : undefined;
}

/**
 * Sets a cookie, by default of the browser's session, or with an empty value removes it. Without a path: the browser takes the folder of the
 * page, which is where the dashboard is mounted, also behind a proxy that mounts it elsewhere.
 */
export function setCookie(
  response: ServerResponse,
  name: string,
  value: string,
  isSecure: boolean,
  max_age_s?: number,
): void {
  const attributes = ['HttpOnly', 'SameSite=Strict', ...(isSecure ? ['Secure'] : [])];
  if (value === '') attributes.push('Max-Age=0');
  else if (max_age_s !== undefined) attributes.push(`Max-Age=${max_age_s}`);
  response.appendHeader('set-cookie', [`${name}=${value}`, ...attributes].join('; '));
}
