import type { IncomingHttpHeaders } from 'node:http';

/**
 * Upstream reply headers that the client of a generation gets unchanged, in lower case. Add a name to copy a header. Empty by default,
 * because headers reveal the server, its limits and cookies.
 */
const copiedHeaders: readonly string[] = [];

/** Copies the headers of these names into `to`, in place of those of an earlier attempt. */
export function copyHeaders(
  from: IncomingHttpHeaders,
  to: Record<string, string>,
  names: readonly string[] = copiedHeaders,
): void {
  for (const name of names) {
    const value = from[name];
    if (value === undefined) delete to[name];
    else to[name] = String(value);
  }
}
