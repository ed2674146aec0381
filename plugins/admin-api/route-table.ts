import { apiError } from './api-error.ts';
import type { Route } from './route.ts';

interface Entry {
  readonly route: Route;
  readonly parts: readonly string[];
}

/** Finds the route of a request. */
export class RouteTable {
  readonly #entries: readonly Entry[];

  constructor(routes: readonly Route[]) {
    this.#entries = routes.map(route => ({ route, parts: route.path.split('/') }));
  }

  /** The route of a path below `/v1`, with what stands in place of its parameters. Throws 404 and 405. */
  find(method: string, path: string): { readonly route: Route; readonly params: Record<string, string> } {
    const given = path.split('/');
    const at = this.#entries.filter(({ parts }) => isAt(parts, given));
    // A path without parameters comes before one that has them.
    const found = at
      .filter(({ route }) => route.method === method)
      .toSorted((a, b) => parametersIn(a.parts) - parametersIn(b.parts))[0];
    if (found) return { route: found.route, params: paramsOf(found.parts, given) };
    if (at.length === 0) throw apiError('unknown_url');
    const allow = [...new Set(at.map(({ route }) => route.method))].join(', ');
    throw apiError('method_not_allowed', { headers: { allow } });
  }
}

const isParameter = (part: string): boolean => part.startsWith('{');

const parametersIn = (parts: readonly string[]): number => parts.filter(isParameter).length;

const isAt = (parts: readonly string[], given: readonly string[]): boolean =>
  parts.length === given.length &&
  parts.every((part, at) => (isParameter(part) ? given[at] !== '' : part === given[at]));

function paramsOf(parts: readonly string[], given: readonly string[]): Record<string, string> {
  try {
    return Object.fromEntries(
      parts.flatMap((part, at) =>
        isParameter(part) ? [[part.slice(1, -1), decodeURIComponent(given[at]!)]] : [],
      ),
    );
  } catch {
    throw apiError('unknown_url');
  }
}
