import type { Dialect, GenerationFormat } from '../dialects/define-dialect.ts';
import type { Endpoint } from '../exchange/exchange-view.ts';

/** An endpoint with its methods. */
export interface Route extends Endpoint {
  readonly methods: readonly string[];
  /** Dialect of the endpoint; undefined where bytes are passed through. */
  readonly dialect?: Dialect;
  /** One path for all of this route's paths, if it has several; for spans. */
  readonly pattern?: string;
}

/** Dialect of a route that generates replies. */
export const formatOf = (route: Route | undefined): (Dialect & GenerationFormat) | undefined =>
  route?.dialect && 'parse' in route.dialect ? route.dialect : undefined;

/** Endpoint of every path that is not offered here. It needs a key, as behind a chain of stages it may be the parent's. */
export const unknownEndpoint: Endpoint = { name: 'unknown', public: false };

/** Path of a request target, without query and trailing slash. */
export function pathOf(url: string): string {
  const target = url.startsWith('/') ? url : withoutOrigin(url);
  const query = target.indexOf('?');
  const path = query === -1 ? target : target.slice(0, query);
  return path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path;
}

/** Path and query of a request target in absolute form, which servers must accept (RFC 9112, 3.2.2). */
const withoutOrigin = (url: string): string => url.replace(/^https?:\/\/[^/?#]*/i, '') || '/';

/** Routes by path, from the dialects. */
export class Routes {
  readonly #byPath: ReadonlyMap<string, Route>;

  constructor(dialects: readonly Dialect[]) {
    this.#byPath = new Map(dialects.flatMap(routesOf));
  }

  of(path: string): Route | undefined {
    return this.#byPath.get(path);
  }

  /**
   * Route for a path in an application, where the part before it is `mount` or a prefix of that: `/llm/v1/models` in `/llm`. A path that
   * only ends like a route has none: a public route would let it through without a key.
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
    return [path, { name, public: isPublic, errorBody, methods, dialect }];
  });
