import type { Dialect } from '../dialects/define-dialect.ts';
import type { Endpoint } from '../exchange/exchange-view.ts';

/** An endpoint with its methods. */
export interface Route extends Endpoint {
  readonly methods: readonly string[];
  /** What is spoken there; none where bytes are passed through. */
  readonly dialect?: Dialect;
  /** The path that stands for all of this route's paths, if it has several: for spans. */
  readonly pattern?: string;
}

/** Stands for every path that is not offered here; behind a chain of stages it may still be the parent's, and needs a key. */
export const unknownEndpoint: Endpoint = { name: 'unknown', public: false };

/** The path of a request target without its query and without a slash at its end. */
export function pathOf(url: string): string {
  const target = url.startsWith('/') ? url : withoutOrigin(url);
  const query = target.indexOf('?');
  const path = query === -1 ? target : target.slice(0, query);
  return path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path;
}

/** The absolute form of a request target, which servers must understand (RFC 9112, 3.2.2). */
const withoutOrigin = (url: string): string => url.replace(/^https?:\/\/[^/?#]*/i, '') || '/';

/** The paths of dialects. */
export class Routes {
  readonly #byPath: ReadonlyMap<string, Route>;

  constructor(dialects: readonly Dialect[]) {
    this.#byPath = new Map(dialects.flatMap(routesOf));
  }

  of(path: string): Route | undefined {
    return this.#byPath.get(path);
  }

  /**
   * The route of a whole path in an application, where what precedes it is `mount` or the beginning of it: `/llm/v1/models` in `/llm`. A path
   * that only ends like a route is none, since a public one lets requests through without a key.
   */
  mounted(path: string, mount: string): Route | undefined {
    for (const [known, route] of this.#byPath)
      if (path.endsWith(known) && mount.startsWith(path.slice(0, -known.length))) return route;
    return undefined;
  }
}

const routesOf = (dialect: Dialect): [string, Route][] =>
  Object.entries(dialect.paths).map(([path, methods]) => {
    const { name, public: isPublic, errorBody } = dialect;
    return [path, { name: name as Endpoint['name'], public: isPublic, errorBody, methods, dialect }];
  });
