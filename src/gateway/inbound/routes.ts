import type { Dialect, RequestFormat } from '../dialects/define-dialect.ts';
import { type GatewayError, refusal } from '../exchange/errors.ts';
import type { Endpoint } from '../exchange/exchange-view.ts';

/** An endpoint with its methods. */
export interface Route extends Endpoint {
  readonly methods: readonly string[];
  /** Dialect of the endpoint; undefined where bytes are passed through. */
  readonly dialect?: Dialect;
  /** One path for all of this route's paths, if it has several; for spans. */
  readonly pattern?: string;
}

/** Dialect of a route whose requests have a body. */
export const formatOf = (route: Route | undefined): (Dialect & RequestFormat) | undefined =>
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

/** Where a request was sent. */
export interface Located {
  /** The path as the routes have it, without what is before it in an application. */
  readonly path: string;
  readonly route: Route | undefined;
}

/** Routes by path, from the dialects: whole paths first, then the longest of those that end in a slash and a star. */
export class Routes {
  /** Names of the endpoints that generate. */
  readonly generating: readonly string[];
  readonly #byPath: ReadonlyMap<string, Route>;
  readonly #below: readonly (readonly [prefix: string, route: Route])[];

  constructor(dialects: readonly Dialect[]) {
    const routes = dialects.flatMap(routesOf);
    this.generating = [...new Set(routes.flatMap(([, { name, generates }]) => (generates ? [name] : [])))];
    const [below, whole] = [routes.filter(isPattern), routes.filter(entry => !isPattern(entry))];
    this.#byPath = new Map(whole);
    this.#below = below
      .map(([path, route]) => [path.slice(0, -1), { ...route, pattern: path }] as const)
      .sort(([one], [other]) => other.length - one.length);
  }

  of(path: string): Route | undefined {
    const whole = this.#byPath.get(path);
    if (whole || this.#below.length === 0) return whole;
    return this.#below.find(([prefix]) => path.startsWith(prefix) && path.length > prefix.length)?.[1];
  }

  /** Endpoint of a path that is not offered: its errors have the form of the dialect above it, as for `/v1/messages/batches`. */
  unknown(path: string): Endpoint {
    for (const [above, { errorBody, headers }] of this.#byPath)
      if (errorBody && path.startsWith(`${above}/`)) return { ...unknownEndpoint, errorBody, headers };
    return unknownEndpoint;
  }

  /**
   * Route for a path in an application, where the part before it is `mount` or a prefix of that: `/llm/v1/models` in `/llm`. A path that
   * only ends like a route has none: a public route would let it through without a key.
   */
  mounted(path: string, mount: string): Located | undefined {
    for (const [known, route] of this.#byPath)
      if (path.endsWith(known) && mount.startsWith(path.slice(0, -known.length)))
        return { path: known, route };
    for (const [prefix, route] of this.#below) {
      const at = path.indexOf(prefix);
      if (at !== -1 && mount.startsWith(path.slice(0, at)) && path.length > at + prefix.length)
        return { path: path.slice(at), route };
    }
    return undefined;
  }
}

const isPattern = ([path]: readonly [string, Route]): boolean => path.endsWith('/*');

const routesOf = (dialect: Dialect): [string, Route][] =>
  Object.entries(dialect.paths).map(([path, methods]) => {
    const { name, public: isPublic, uncounted, errorBody, headers } = dialect;
    const generates = 'renderReply' in dialect;
    return [path, { name, public: isPublic, generates, uncounted, errorBody, headers, methods, dialect }];
  });

/** Error for a path that is not offered, or not with this method; undefined if it is. `upgrade` is the request's header of that name. */
export function routeFault(
  method: string,
  path: string,
  route: Route | undefined,
  upgrade: string | undefined,
): GatewayError | undefined {
  if (!route)
    return refusal('unknown_url', { message: `Unknown request URL: ${method} ${path.slice(0, 256)}.` });
  if (route.methods.includes(method)) return undefined;
  // Codex goes on over HTTP after this status at once, and after no other.
  if (method === 'GET' && upgrade?.toLowerCase() === 'websocket') return refusal('upgrade_required');
  const allow = route.methods.join(', ');
  const message = `${path.slice(0, 256)} does not accept ${method}; use ${allow}.`;
  return refusal('method_not_allowed', { message, headers: { allow } });
}
