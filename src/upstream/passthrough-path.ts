/** A segment of plain characters and percent-encoded ones, of which none may mean a dot, a slash or the end of a path. */
const segment = /^(?:[A-Za-z0-9._~!$&'()*+,;=:@-]|%(?:20|[89a-f][0-9a-f]))+$/i;

/**
 * Whether `path` names the same place for every server that reads it: no empty or dot segments, no encoded dots, slashes, controls or
 * percent signs, no fragment. Only such a path can be put behind a base address without leaving it.
 */
export function isPlainPath(path: string): boolean {
  const [root, ...segments] = path.split('/');
  return root === '' && segments.every(text => segment.test(text) && text !== '.' && text !== '..');
}

/** A path of the configuration as a test for paths of requests: a whole path, or `…/*` for all below it. */
export function pathTest(pattern: string): (path: string) => boolean {
  if (!pattern.endsWith('/*')) return path => path === pattern;
  const prefix = pattern.slice(0, -1);
  return path => path.startsWith(prefix) && path.length > prefix.length;
}

/** The query of a request target as it was sent, with its `?`; `undefined` when the target has a fragment, which no client may send. */
export function queryOf(url: string): string | undefined {
  if (url.includes('#')) return undefined;
  const at = url.indexOf('?');
  return at === -1 ? '' : url.slice(at);
}
