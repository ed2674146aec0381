import type { IncomingHttpHeaders, OutgoingHttpHeader, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { http } from '../../common/node-http.ts';

/** Headers about the handler's bytes, which are written anew, or for the handler as the upstream's client. */
const ofTheBytes = [
  'content-length',
  'content-encoding',
  'content-type',
  'content-range',
  'content-md5',
  'transfer-encoding',
  'trailer',
  'accept-ranges',
  'etag',
  'last-modified',
  'retry-after',
  'www-authenticate',
  'proxy-authenticate',
];

/** Headers of a connection and its server: the application's are sent, never the upstream's. */
const ofTheHop = ['connection', 'keep-alive', 'upgrade', 'server', 'x-powered-by'];

const kept = new Set([...ofTheBytes, ...ofTheHop]);

const methods = [
  'setHeader',
  'setHeaders',
  'appendHeader',
  'getHeader',
  'getHeaders',
  'getHeaderNames',
  'hasHeader',
  'removeHeader',
] as const;

export type HeaderMethods = Pick<ServerResponse, (typeof methods)[number]>;
export type HeaderList = OutgoingHttpHeaders | OutgoingHttpHeader[] | OutgoingHttpHeader[][];

/**
 * Headers that a foreign handler sets, kept apart from the response's. Node takes the later removal of some of them as a wish for a reply
 * without framing, and none may be set once the head of a stream has gone out early.
 */
export class HandlerHead {
  /** The response's own methods, from before it got `standIns`. */
  readonly own: HeaderMethods;
  /** The methods that the handler calls instead. */
  readonly standIns: HeaderMethods;
  readonly #response: ServerResponse;
  readonly #store = new http.OutgoingMessage();

  constructor(response: ServerResponse) {
    this.#response = response;
    this.own = Object.fromEntries(methods.map(name => [name, response[name]])) as HeaderMethods;
    for (const [name, value] of Object.entries(response.getHeaders()))
      if (value !== undefined) this.#store.setHeader(name, value);
    const standIn = (name: keyof HeaderMethods) => {
      const method = this.#store[name] as (...args: unknown[]) => unknown;
      return (...args: unknown[]) => {
        const result = Reflect.apply(method, this.#store, args);
        return result === this.#store ? response : result;
      };
    };
    this.standIns = Object.fromEntries(methods.map(name => [name, standIn(name)])) as HeaderMethods;
  }

  get headers(): IncomingHttpHeaders {
    return { ...this.#store.getHeaders() } as IncomingHttpHeaders;
  }

  /** Adds names and values in any form that `writeHead` takes. */
  add(headers: HeaderList | undefined): void {
    const store = this.#store;
    if (!Array.isArray(headers)) {
      for (const [name, value] of Object.entries(headers ?? {}))
        if (value !== undefined) store.setHeader(name, value);
      return;
    }
    const pairs = pairsOf(headers);
    for (const [name] of pairs) store.removeHeader(String(name));
    // A list may repeat a name, as with `set-cookie`.
    for (const [name, value] of pairs)
      store.appendHeader(String(name), Array.isArray(value) ? value : String(value));
  }

  /** Runs `write` with the response's own methods in place, even if other middleware has replaced them. */
  withOwn<T>(write: () => T): T {
    const response = this.#response;
    const current = Object.fromEntries(methods.map(name => [name, response[name]]));
    Object.assign(response, this.own);
    try {
      return write();
    } finally {
      Object.assign(response, current);
    }
  }

  /** Copies to the response the headers that may go out with a reply made of the handler's. Call it within `withOwn`. */
  apply(): void {
    const headers = this.#store.getHeaders();
    for (const name of this.#response.getHeaderNames())
      if (!kept.has(name) && headers[name] === undefined) this.#response.removeHeader(name);
    for (const [name, value] of Object.entries(headers))
      if (!kept.has(name) && value !== undefined) this.#response.setHeader(name, value);
  }
}

function pairsOf(list: OutgoingHttpHeader[] | OutgoingHttpHeader[][]): OutgoingHttpHeader[][] {
  if (Array.isArray(list[0])) return list as OutgoingHttpHeader[][];
  const pairs: OutgoingHttpHeader[][] = [];
  for (let at = 0; at + 1 < list.length; at += 2)
    pairs.push((list as OutgoingHttpHeader[]).slice(at, at + 2));
  return pairs;
}
