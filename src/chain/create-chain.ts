import type { IncomingMessage, ServerResponse } from 'node:http';
import { finished } from 'node:stream/promises';
import { Registry } from 'prom-client';
import { Catalog, type Model } from '../catalog/catalog.ts';
import { systemClock } from '../clock.ts';
import { madeAt } from '../diagnostics/config-error.ts';
import { builtInDialects, createDialects } from '../dialects/built-in-dialects.ts';
import type { Dialect, GenerationFormat } from '../dialects/define-dialect.ts';
import type { Outcome } from '../exchange/exchange-view.ts';
import type { ReplySource } from '../exchange/reply-source.ts';
import { ExchangeRun, type PreparedExchange, type RunnerParts } from '../exchange/runner.ts';
import type { Exchange } from '../exchange.ts';
import { BufferedBytes } from '../inbound/buffered-bytes.ts';
import { discardBody } from '../inbound/discard-body.ts';
import { parserFault } from '../inbound/parser-fault.ts';
import { replayBody } from '../inbound/replay-body.ts';
import { type Route, Routes, unknownEndpoint } from '../inbound/routes.ts';
import { Background } from '../settlement/background.ts';
import { outcomeOf, settle } from '../settlement/settle.ts';
import { type AccountsConfig, ConfiguredAccounts } from '../stores/accounts/accounts.ts';
import { MemoryStateStore } from '../stores/limits/memory-state-store.ts';
import type { Log } from '../telemetry/log.ts';
import { logOf } from '../telemetry/logger.ts';
import { Metrics } from '../telemetry/metrics.ts';
import { warnOfLostSpans } from '../telemetry/tracing.ts';
import { ApplicationAccounts } from './application-accounts.ts';
import { Chain } from './chain.ts';
import { type ChainOptions, type ChainStage, chainMistake, checkedChain } from './chain-options.ts';
import { holdsLimits } from './check-access.ts';
import { createStages } from './create-stages.ts';
import { handlerDialect, isFromChat } from './dialect-options.ts';
import { foreignBody } from './handler-request.ts';
import { HandlerSource } from './handler-source.ts';
import { interceptResponse, isIntercepted } from './intercept-response.ts';
import {
  type Incoming,
  isShared,
  routeFor,
  type SharedExchange,
  sharedExchangeOf,
} from './shared-exchange.ts';
import type { ErrorHandler, RequestHandler } from './stage-plan.ts';
import { watchSilence } from './watch-silence.ts';

type Checked = ReturnType<typeof checkedChain>;
type Next = (error?: unknown) => void;

/**
 * Puts stages in front of an existing handler, such as the application's own proxy to an OpenAI-compatible server:
 * `app.use('/v1/chat/completions', createChain([auth(), validation()], { models, accounts }), proxy)`. The handler receives the request as
 * changed by the stages, and its reply goes back through them. Requests to other paths only run `onHeaders`.
 */
export function createChain<R extends IncomingMessage = IncomingMessage>(
  stages: readonly ChainStage[],
  options: ChainOptions<R> = {},
): ChainHandler {
  const checked = checkedChain(stages, options as ChainOptions);
  const log = logOf(checked.options.log, 'warn');
  warnOfLostSpans(log);
  for (const warning of checked.warnings) log.warn(warning);
  const parts = partsOf(checked, log);
  const handler: RequestHandler = (request, response, next) => {
    // Another handler has begun or ended a reply.
    if (response.headersSent || response.writableEnded) return next();
    void new ExchangeRun(parts, new ChainExchange(parts, request, response, next)).run();
  };
  const errorHandler: ErrorHandler = (error, request, response, next) => {
    const route = routeFor(request, parts.routes);
    // A request that has passed a chain has an error of a handler behind it.
    const isAnswered = response.headersSent || response.writableEnded || isShared(request);
    const fault = route && !isAnswered && parserFault(error, request, parts.options, true);
    if (!fault) return next(error);
    void new ExchangeRun(parts, new ChainExchange(parts, request, response, next, fault)).run();
  };
  return Object.assign(handler, { errorHandler });
}

/** The handler of a chain. */
export type ChainHandler = RequestHandler & {
  /**
   * For `app.use` behind the chain, at the same path: answers errors of the application's body parser, such as `express.json()`, as the chain
   * would have, a missing key before a broken body. All other errors go to `next`.
   */
  readonly errorHandler: ErrorHandler;
};

interface ChainParts extends RunnerParts {
  readonly routes: Routes;
  readonly options: Checked['options'];
  readonly log: Log;
  /** The metrics, if there is a registry for them. */
  readonly measured: Metrics | undefined;
  /** True if a stage needs the request; otherwise the body is left to the handler. */
  readonly looksIn: boolean;
  /** True if a stage needs the reply. */
  readonly looksBack: boolean;
}

function partsOf({ plans, options, limitPlans }: Checked, log: Log): ChainParts {
  const { registry, state = new MemoryStateStore(), accountOf } = options;
  const metrics = new Metrics(registry ?? new Registry());
  const models = options.models.map(
    model => ({ ...model, upstreams: model.upstreams ?? [], extra_parameters: [] }) as Model,
  );
  const catalog = new Catalog(models);
  const accounts = new ConfiguredAccounts(options.accounts as AccountsConfig);
  const stages = createStages(
    plans,
    {
      catalog,
      accounts,
      accountOf:
        accountOf &&
        new ApplicationAccounts(accountOf, {
          accounts,
          plans: limitPlans,
          holdsLimits: holdsLimits(plans),
          clock: systemClock,
        }).find,
      plans: options.plans,
      state,
      registry: metrics.registry,
      log,
      clock: systemClock,
    },
    (at, make) => madeAt(chainMistake, ['stages', at], make),
  );
  const measured = registry && metrics;
  const chain = new Chain(stages, measured);
  const looksBack = chain.stages.some(stage => stage.onReply || stage.onStream || stage.onError);
  return {
    chain,
    catalog,
    limits: options,
    metrics,
    background: new Background(options, metrics),
    buffered: new BufferedBytes(options, metrics.bodies),
    routes: new Routes(createDialects(builtInDialects, options, { models })),
    options,
    log,
    measured,
    looksIn: looksBack || chain.stages.some(stage => stage.onRequest),
    looksBack,
  };
}

/** One request in one of the chains before its handler. */
class ChainExchange implements PreparedExchange {
  readonly exchange: Exchange;
  readonly request: Incoming;
  readonly response: ServerResponse;
  readonly parserFault: Error | undefined;
  readonly format: GenerationFormat | undefined;
  readonly isInner: boolean;
  readonly #parts: ChainParts;
  readonly #shared: SharedExchange;
  readonly #isFirst: boolean;
  readonly #next: Next;
  readonly #looksBack: boolean;
  /** The client's dialect, if the handler is asked for a chat completion instead. */
  readonly #converted: Dialect | undefined;

  constructor(parts: ChainParts, request: Incoming, response: ServerResponse, next: Next, fault?: Error) {
    this.#parts = parts;
    this.parserFault = fault;
    this.request = request;
    this.response = response;
    this.#next = next;
    const route = routeFor(request, parts.routes);
    this.#shared = sharedExchangeOf(request, response, route ?? unknownEndpoint, parts.log, parts.measured);
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
        discardBody(request, limits, exchange.elapsed_ms);
        await finished(request.resume()).catch(() => {});
      }
      replayBody(request, foreignBody(exchange, this.#looksBack));
    }
    if (this.#converted) askForChat(request, this.#converted);
    if (!this.format || !this.#looksBack) return undefined;
    const interception = interceptResponse(response, askForPlain(request), options.idle_timeout_ms, () => {
      exchange.attempts = 1;
      this.#next();
    });
    const readOn = (pending: Promise<unknown>) => (this.#shared.pending = pending);
    return new HandlerSource(exchange, interception, readOn);
  }

  /** Leaves the reply to the handler. */
  pass(): Promise<void> {
    const { exchange, response } = this;
    const { idle_timeout_ms } = this.#parts.options;
    exchange.attempts = 1;
    for (const [name, value] of Object.entries(exchange.replyHeaders)) response.setHeader(name, value);
    const note = () => {
      if (response.headersSent && exchange.end.status === 0) exchange.end.replied(response.statusCode);
    };
    const stopWatching = watchSilence(response, idle_timeout_ms, () => {
      exchange.end.causedBy('upstream_failed');
      exchange.log.warn({ path: exchange.path, idle_timeout_ms }, 'handler silent for too long');
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
    return this.#isFirst
      ? settle(exchange, this.#shared.metrics ?? this.#parts.metrics)
      : outcomeOf(exchange);
  }
}

/** Dialect of a route that generates replies. */
function formatOf(route: Route | undefined): (Dialect & GenerationFormat) | undefined {
  return route?.dialect && 'parse' in route.dialect ? route.dialect : undefined;
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
