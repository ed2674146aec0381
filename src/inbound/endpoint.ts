import type { Endpoint } from '../exchange.ts';

/** An endpoint with its methods. */
export interface Route extends Endpoint {
  readonly methods: readonly string[];
  /** The path that stands for all of this route's paths, if it has several: for spans. */
  readonly pattern?: string;
}

/** Everything that is offered below `/v1` (spec 4). */
const routes: Readonly<Record<string, Route>> = {
  '/v1/models': { name: 'models', public: true, methods: ['GET', 'HEAD'] },
  '/v1/chat/completions': { name: 'chat.completions', public: false, methods: ['POST'] },
  '/v1/responses': { name: 'responses', public: false, methods: ['POST'] },
};

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

export function routeOf(path: string): Route | undefined {
  return Object.hasOwn(routes, path) ? routes[path] : undefined;
}

/**
 * The route of a whole path in an application, where what precedes it is `mount` or the beginning of it: `/llm/v1/models` in `/llm`. A path
 * that only ends like a route is none, since a public one lets requests through without a key.
 */
export function mountedRouteOf(path: string, mount: string): Route | undefined {
  const name = Object.keys(routes).find(
    known => path.endsWith(known) && mount.startsWith(path.slice(0, -known.length)),
  );
  return name === undefined ? undefined : routes[name];
}
