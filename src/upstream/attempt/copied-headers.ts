import type { IncomingHttpHeaders } from 'node:http';

/**
 * Reply headers of the upstream that the client of a generation gets as they came, in lower case. A header is copied by adding its name here.
 * None is by default: they would tell of the server, its limits and cookies.
 */
const copiedHeaders: readonly string[] = [];

/** Puts the headers of these names into `to`, in place of those of an earlier attempt. */
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
