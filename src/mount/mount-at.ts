import type { IncomingMessage } from 'node:http';

/**
 * Sets `url`, `originalUrl` and `baseUrl` as Express does for a handler that is mounted at `path`. False for a request that is not for it,
 * which stays as it is.
 */
export function mountAt(path: string, request: IncomingMessage): boolean {
  const { url = '/' } = request;
  if (!url.startsWith(path) || !['/', '?', undefined].includes(url[path.length])) return false;
  const below = url.slice(path.length);
  Object.assign(request, {
    url: below.startsWith('/') ? below : `/${below}`,
    originalUrl: url,
    baseUrl: path,
  });
  return true;
}
