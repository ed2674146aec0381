import type { ServerResponse } from 'node:http';
import { finished } from 'node:stream/promises';
import type { CatalogAnswers, Dialect, RequestFormat } from '../../gateway/dialects/define-dialect.ts';
import type { GatewayError } from '../../gateway/exchange/errors.ts';
import type { Exchange } from '../../gateway/exchange/exchange.ts';
import type { Outcome } from '../../gateway/exchange/exchange-view.ts';
import type { ReplySource } from '../../gateway/exchange/reply-source.ts';
import type { PreparedExchange, RunnerParts } from '../../gateway/exchange/runner.ts';
import { discardBody } from '../../gateway/inbound/discard-body.ts';
import { formatOf, type Route, type Routes } from '../../gateway/inbound/routes.ts';
import { headFault } from '../../gateway/outbound/reply-headers.ts';
import { endServerSpan, outcomeOf, settle } from '../../gateway/settlement/settle.ts';
import { writeDialectAnswer } from '../dialect-answer.ts';
import { replayBody } from '../replay-body.ts';
import type { CheckedChain } from './chain-options.ts';
import { handlerDialect, isFromChat } from './dialect-options.ts';
import { foreignBody } from './handler-request.ts';
import { HandlerSource } from './handler-source.ts';
import { interceptResponse, isIntercepted } from './intercept-response.ts';
import {
  type ChainSurroundings,
  type Incoming,
  locatedIn,
  type SharedExchange,
  sharedExchangeOf,
} from './shared-exchange.ts';
import type { UnreadPaths } from './unread-paths.ts';
import { watchSilence } from './watch-silence.ts';

type Next = (error?: unknown) => void;

/** Parts that all requests to one chain share. */
export interface ChainParts extends RunnerParts, ChainSurroundings {
  readonly routes: Routes;
  /** What refuses requests that the stages must read and cannot; undefined if they go to the handler. */
  readonly unread: UnreadPaths | undefined;
  readonly options: CheckedChain['options'];
  /** True if a stage needs the request; otherwise the body is left to the handler. */
  readonly looksIn: boolean;
  /** True if a stage needs the reply. */
  readonly looksBack: boolean;
}

/** One request in one of the chains before its handler. */
export class ChainExchange implements PreparedExchange {
  readonly exchange: Exchange;
  readonly request: Incoming;
  readonly response: ServerResponse;
  readonly refusal: GatewayError | undefined;
  readonly parserFault: Error | undefined;
  readonly format: RequestFormat | undefined;
  readonly isInner: boolean;
  readonly #parts: ChainParts;
  readonly #shared: SharedExchange;
  readonly #isFirst: boolean;
  readonly #next: Next;
  readonly #looksBack: boolean;
  readonly #path: string;
  /** The dialect that answers from the chain's catalog. */
  readonly #catalog: CatalogAnswers | undefined;
  /** The client's dialect, if the handler is asked for a chat completion instead. */
  readonly #converted: Dialect | undefined;

  constructor(parts: ChainParts, request: Incoming, response: ServerResponse, next: Next, fault?: Error) {
    this.#parts = parts;
    this.request = request;
    this.response = response;
    this.#next = next;
    const { path, route, fault: refused } = locatedIn(request, parts);
    this.refusal = refused;
    this.#path = path;
    this.#catalog = catalogOf(route, parts);
    // A reply from the catalog needs no body.
    this.parserFault = this.#catalog ? undefined : fault;
    this.#shared = sharedExchangeOf(request, response, { path, route }, parts);
    this.#isFirst = this.#shared.chains === 1;
    this.exchange = this.#shared.exchange;
    this.isInner = isIntercepted(response);
    const dialect = formatOf(route);
    this.#converted = dialect && isFromChat(parts.options, dialect.name) ? dialect : undefined;
    this.#looksBack = parts.looksBack || this.#converted !== undefined;
    const isRead = this.#converted || (parts.looksIn && dialect?.name === handlerDialect.name);
    this.format = isRead ? dialect : undefined;
  }

  /** The handler as the reply's source, if stages need the reply. */
  async source(): Promise<ReplySource | undefined> {
    const { exchange, request, response } = this;
    const { limits, options } = this.#parts;
    if (this.format) {
      if (!request.readableEnded) {
        // The parent has set a body of its own without reading the client's.
        discardBody(request, limits, exchange);
        await finished(request.resume()).catch(() => {});
      }
      replayBody(request, foreignBody(exchange, this.#looksBack));
    }
    if (this.#converted) askForChat(request, this.#converted);
    if (!this.format || !this.#looksBack) return undefined;
    const interception = interceptResponse(response, askForPlain(request), options.idle_timeout_ms, () => {
      exchange.beginAttempt();
      this.#next();
    });
    const readOn = (pending: Promise<unknown>) => (this.#shared.pending = pending);
    return new HandlerSource(exchange, interception, readOn);
  }

  /** Answers from the catalog, or leaves the reply to the handler. */
  pass(): void | Promise<void> {
    const { exchange, response } = this;
    if (this.#catalog) return writeDialectAnswer(this.#catalog, this, this.#path, this.#parts);
    const { unread, options } = this.#parts;
    const fault = this.format ? undefined : unread?.faultOf(exchange, this.#path);
    if (fault) throw fault;
    exchange.beginAttempt();
    try {
      for (const [name, value] of Object.entries(exchange.replyHeaders)) response.setHeader(name, value);
    } catch (thrown) {
      return Promise.reject(headFault(exchange, thrown));
    }
    const note = () => {
      if (response.headersSent && exchange.end.status === 0) exchange.end.replied(response.statusCode);
    };
    const { idle_timeout_ms } = options;
    const stopWatching = watchSilence(response, idle_timeout_ms, () => {
      exchange.end.causedBy('upstream_failed');
      exchange.log.warn(
        { path: exchange.path, idle_timeout_ms },
        'the handler sent nothing for idle_timeout_ms',
      );
      response.destroy();
    });
    return new Promise(resolve => {
      response.once('finish', () => {
        note();
        exchange.end.replyEnded();
      });
      response.once('close', () => {
        stopWatching();
        note();
        resolve();
      });
      this.#next();
    });
  }

  /** Settles the exchange in the first chain. A later one waits for that, since the first one writes last. */
  async settle(): Promise<Outcome> {
    const { exchange, response } = this;
    if (!this.#isFirst && !response.closed) await new Promise(resolve => response.once('close', resolve));
    await this.#shared.pending?.catch(() => {});
    exchange.attempts.at(-1)?.ended(exchange.end.reason === 'completed' ? 'completed' : 'aborted');
    const { metrics, options } = this.#parts;
    return this.#isFirst
      ? settle(exchange, { metrics: this.#shared.metrics ?? metrics, log_sample: options.log_sample })
      : outcomeOf(exchange);
  }

  /** Ends the span in the chain that is the last to settle its stages. */
  endSpan(): void {
    this.#shared.unsettled--;
    if (this.#shared.unsettled === 0) endServerSpan(this.exchange);
  }
}

/** The dialect of a route that is answered from the catalog, if the chain has one. */
function catalogOf(route: Route | undefined, { catalog }: ChainParts): CatalogAnswers | undefined {
  const { dialect } = route ?? {};
  return dialect && 'answer' in dialect && catalog.models.length > 0 ? dialect : undefined;
}

/** Rewrites `url` and `originalUrl` to the handler's path for chat completions, so that a later chain reads the same. */
function askForChat(request: Incoming, { paths }: Dialect): void {
  const [ownPath, chatPath] = [paths, handlerDialect.paths].map(of =>
    Object.keys(of)[0]!.slice('/v1'.length),
  );
  const own = new RegExp(`${ownPath}(/?)(?=\\?|$)`);
  const chatUrl = (url: string) => url.replace(own, `${chatPath}$1`);
  request.url = chatUrl(request.url ?? '');
  if (request.originalUrl !== undefined) request.originalUrl = chatUrl(request.originalUrl);
}

/**
 * Asks the handler for an uncompressed reply, which can be read here. Returns a function that restores the client's own header for the
 * final reply.
 */
function askForPlain({ headers }: Incoming): () => void {
  const wish = headers['accept-encoding'];
  headers['accept-encoding'] = 'identity';
  return () => {
    if (wish === undefined) delete headers['accept-encoding'];
    else headers['accept-encoding'] = wish;
  };
}
