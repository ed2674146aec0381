import type { IncomingMessage } from 'node:http';
import { decodePath } from '../../common/decode-path.ts';
import { type GatewayError, refusal } from '../../gateway/exchange/errors.ts';
import type { Exchange } from '../../gateway/exchange/exchange.ts';
import type { Stage } from '../../gateway/exchange/stage.ts';
import { hasBody } from '../replay-body.ts';

/** Paths that are logged, each once: clients choose them. */
const max_logged = 20;
/** Methods of requests that ask for nothing to be generated, if they come without a body. */
const plain_methods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'DELETE']);
/** What a generation endpoint may have stored, to be read with GET: the stages would not see it. */
const stored = /\/v\d[^/]*\/+(?:chat\/+completions|completions|responses|messages)\/+[^/]/i;

/** True for a stage that may have to read requests or replies to protect anything. */
export const readsExchanges = (stage: Stage): boolean =>
  stage.mustRead !== undefined
    ? stage.mustRead !== false
    : Boolean(stage.onRequest || stage.onReply || stage.onStream);

/**
 * Refuses requests that a chain's stages must read and cannot, as the chain has no format for their paths. Other requests are known by what
 * they lack, a body, and not by a list of generation paths, in which some would be missing.
 */
export class UnreadPaths {
  readonly #readers: readonly Stage[];
  readonly #logged = new Set<string>();

  /** `readers` are the stages that `readsExchanges` names. */
  constructor(readers: readonly Stage[]) {
    this.#readers = readers;
  }

  /** The error for a request that goes to the handler unread; undefined if it may. */
  faultOf(exchange: Exchange, path: string): GatewayError | undefined {
    const isRestricted = exchange.account?.model_lists !== undefined;
    if (this.#readers.length === 0 && !isRestricted) return undefined;
    if (asksForNothing(exchange.incoming, exchange.path)) return undefined;
    const readers = this.#readers.filter(stage => mustRead(stage, exchange));
    if (readers.length === 0 && !isRestricted) return undefined;
    this.#log(exchange, readers);
    const message = `Unknown request URL: ${exchange.method} ${path.slice(0, 256)}.`;
    return refusal('unknown_url', { message });
  }

  #log({ log, method, path }: Exchange, readers: readonly Stage[]): void {
    if (this.#logged.has(path) || this.#logged.size >= max_logged) return;
    this.#logged.add(path);
    log.warn(
      { method, path, stages: readers.map(({ name }) => name) },
      'refused a path that stages of createChain must read and cannot; see otherPaths',
    );
  }
}

const mustRead = ({ mustRead = true }: Stage, exchange: Exchange): boolean =>
  typeof mustRead === 'function' ? mustRead(exchange) : mustRead;

/** Whether a request can neither generate nor fetch what was generated. Over HTTP/2 a body need not be announced. */
function asksForNothing(request: IncomingMessage & { stream?: { endAfterHeaders?: boolean } }, path: string) {
  if (!plain_methods.has(request.method ?? '') || hasBody(request)) return false;
  if (request.httpVersionMajor > 1 && request.stream?.endAfterHeaders === false) return false;
  return request.headers.upgrade?.toLowerCase() !== 'websocket' && !stored.test(decodePath(path));
}
