/** A segment of plain characters and percent-encoded ones. `;` would begin a parameter, which some servers cut off: `..;` is `..` to them. */
const segment = /^(?:[A-Za-z0-9._~!$&'()*+,=:@-]|%(?:20|[89a-f][0-9a-f]))+$/i;

/** Characters that end or change a path, and those that some systems take for a slash or a backslash. */
const special = /[/\\%;?#\p{Cc}\u2044\u2215\u2216\u29f5\u29f8]/u;

/** Characters that cannot be seen, and that some systems leave out of a name. */
const invisible = /\p{Cf}/gu;

/**
 * Whether `path` names the same place for every server that reads it: no empty or dot segments, no parameters, no encoded dots, slashes,
 * controls or percent signs, nothing that is one of those only once it is normalized, no fragment. Only such a path can be put behind a
 * base address without leaving it.
 */
export function isPlainPath(path: string): boolean {
  const [root, ...segments] = path.split('/');
  return root === '' && segments.every(isPlainSegment);
}

function isPlainSegment(text: string): boolean {
  if (!segment.test(text)) return false;
  if (!text.includes('%')) return text !== '.' && text !== '..';
  const decoded = decodedOf(text);
  if (decoded === undefined) return false;
  const normal = decoded.normalize('NFKC');
  if (special.test(normal) || dotsIn(normal) !== dotsIn(decoded)) return false;
  const seen = normal.replace(invisible, '').trim();
  return seen !== '' && seen !== '.' && seen !== '..';
}

/** Percent-decoded `text`; `undefined` if it is not UTF-8, such as a dot of two bytes. */
function decodedOf(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

const dotsIn = (text: string): number => text.split('.').length;

/** Compiles a configured path to a test for paths of requests: one whole path, or `…/*` for all below it. */
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
