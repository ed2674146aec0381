import type { IncomingMessage, ServerResponse } from 'node:http';
import { finished } from 'node:stream/promises';
import { Registry } from 'prom-client';
import type { Completion } from '../canonical.ts';
import { Catalog, type Model } from '../catalog/catalog.ts';
import { systemClock } from '../clock.ts';
import { createDialects } from '../dialects/built-in-dialects.ts';
import type { Dialect, GenerationFormat } from '../dialects/define-dialect.ts';
import type { GatewayError } from '../errors.ts';
import type { Exchange } from '../exchange.ts';
import { type BufferedBody, BufferedBytes } from '../inbound/buffered-bytes.ts';
import { discardBody } from '../inbound/discard-body.ts';
import { readBody } from '../inbound/read-body.ts';
import { replayBody } from '../inbound/replay-body.ts';
import { type Route, Routes, unknownEndpoint } from '../inbound/routes.ts';
import { UploadAborted } from '../inbound/upload.ts';
import { identityOf } from '../outbound/reply-identity.ts';
import type { ReplySink } from '../outbound/reply-sink.ts';
import { withinTimeLimit } from '../outbound/time-limit.ts';
import { writeError } from '../outbound/write-error.ts';
import { writeJson } from '../outbound/write-reply.ts';
import { writeStream } from '../outbound/write-stream.ts';
import { Background } from '../settlement/background.ts';
import { meteredReply, StreamMeter } from '../settlement/meter.ts';
import { outcomeOf, settle } from '../settlement/settle.ts';
import { type AccountsConfig, ConfiguredAccounts } from '../stores/accounts/accounts.ts';
import { MemoryStateStore } from '../stores/limits/memory-state-store.ts';
import { createLog, type Log } from '../telemetry/log.ts';
import { Metrics } from '../telemetry/metrics.ts';
import { Chain, type ChainRun } from './chain.ts';
import { type ChainOptions, type ChainStage, checkedChain } from './chain-options.ts';
import { createStages } from './create-stages.ts';
import { handlerDialect, isFromChat } from './dialect-options.ts';
import { foreignBody, foreignReply, foreignStream } from './foreign-handler.ts';
import { type Interception, interceptResponse, isIntercepted } from './intercept-response.ts';
import { type Incoming, routeFor, sharedExchangeOf } from './shared-exchange.ts';
import type { RequestHandler } from './stage-plan.ts';
import { watchSilence } from './watch-silence.ts';

type Checked = ReturnType<typeof checkedChain>;
type CheckedOptions = Checked['options'];
type Next = (error?: unknown) => void;

/**
 * Stages in front of a handler that is there already, such as the application's own proxy to an OpenAI-compatible server:
 * `app.use('/v1/chat/completions', createChain([auth(), validation()], { models, accounts }), proxy)`. The handler receives the request
 * as the stages left it, and its reply goes back through them. Requests to other paths pass through `onHeaders` only.
 */
export function createChain(stages: readonly ChainStage[], options: ChainOptions = {}): RequestHandler {
  const checked = checkedChain(stages, options);
  const { log = createLog('warn') } = checked.options;
  for (const warning of checked.warnings) log.warn(warning);
  const house = new ChainHandler(checked, log);
  return (request, response, next) => {
    house.receive(request, response, next).catch(fault => {
      log.fatal({ err: fault }, 'an exchange could not be ended');
      request.socket.destroy();
    });
  };
}

class ChainHandler {
  readonly #chain: Chain;
  readonly #catalog: Catalog;
  readonly #log: Log;
  readonly #metrics: Metrics;
  /** The metrics if they go anywhere. */
  readonly #measured: Metrics | undefined;
  readonly #options: CheckedOptions;
  readonly #routes: Routes;
  readonly #background: Background;
  readonly #buffered: BufferedBytes;
  /** Some stage wants the request; without one the body is left to the handler. */
  readonly #looksIn: boolean;
  /** Some stage wants the reply. */
  readonly #looksBack: boolean;

  constructor({ plans, options }: Checked, log: Log) {
    const { registry, state = new MemoryStateStore() } = options;
    this.#options = options;
    this.#log = log;
    this.#metrics = new Metrics(registry ?? new Registry());
    this.#measured = registry && this.#metrics;
    this.#background = new Background(options, this.#metrics);
    this.#buffered = new BufferedBytes(options, this.#metrics.bodies);
    const models = options.models.map(
      model => ({ ...model, upstreams: model.upstreams ?? [], extra_parameters: [] }) as Model,
    );
    this.#catalog = new Catalog(models);
    this.#routes = new Routes(createDialects(options, { models }));
    const accounts = new ConfiguredAccounts(options.accounts as AccountsConfig);
    const stages = createStages(plans, {
      catalog: this.#catalog,
      accounts,
      plans: options.plans,
      state,
      registry: this.#metrics.registry,
      log,
      clock: systemClock,
    });
    this.#chain = new Chain(stages, this.#measured);
    this.#looksBack = this.#chain.stages.some(stage => stage.onReply || stage.onStream || stage.onError);
    this.#looksIn = this.#looksBack || this.#chain.stages.some(stage => stage.onRequest);
  }

  /** The way of a request: down the chain, to the handler behind it, and back up. */
  async receive(request: Incoming, response: ServerResponse, next: Next): Promise<void> {
    if (isAnswered(response)) return next();
    const route = routeFor(request, this.#routes);
    const visit = sharedExchangeOf(request, response, route ?? unknownEndpoint, this.#log, this.#measured);
    const { exchange, isFirst } = visit;
    const passage = this.#chain.enter(exchange);
    let body: BufferedBody | undefined;
    const settled = () =>
      visit.whenRead(() => {
        body?.release();
        passage.onSettled(isFirst ? settle(exchange, visit.metrics() ?? this.#metrics) : outcomeOf(exchange));
      });
    const isInner = isIntercepted(response);
    let sink: ReplySink = response;
    let isLeft = false;
    let interception: Interception | undefined;
    let pending: Promise<Completion> | undefined;
    try {
      await passage.onHeaders();
      const { converts, looksBack, dialect } = this.#viewOf(route);
      if (dialect) {
        body = this.#buffered.open(exchange);
        await this.#onRequest(exchange, passage, dialect, request, looksBack, body);
      }
      if (converts) askForChat(request, converts);
      if (exchange.client_gone || isAnswered(response)) return;
      exchange.attempts = 1;
      if (!dialect || !looksBack) {
        isLeft = true;
        return leave(exchange, response, next, settled, this.#options.idle_timeout_ms);
      }
      interception = interceptResponse(response, asked(request), this.#options.idle_timeout_ms);
      sink = interception.sink;
      next();
      if (exchange.request.stream)
        return await this.#relayStream(exchange, passage, dialect, interception, isInner);
      pending = meteredReply(exchange, foreignReply(exchange, interception), this.#metrics);
      const whole = isInner
        ? pending
        : withinTimeLimit(pending, exchange, this.#options.non_stream_timeout_ms);
      const shaped = await passage.onReply(await whole);
      writeJson(exchange, sink, 200, dialect.renderReply(identityOf(exchange), shaped));
    } catch (thrown) {
      if (thrown instanceof UploadAborted) exchange.clientLeft();
      if (pending && exchange.end_reason === 'time_limit') {
        interception?.readOn();
        visit.readOn(pending);
      }
      if (!exchange.client_gone) refuse(exchange, sink, passage.onError(thrown), isInner);
      discardBody(request, this.#options, exchange.elapsed_ms);
    } finally {
      await this.#finish(exchange, interception, pending);
      // How it ended is known to a later chain when the first one has written, which it does last.
      if (!isLeft && (isFirst || response.closed)) settled();
      else if (!isLeft) response.once('close', settled);
    }
  }

  /** What the chain looks at of a request to `route`: nothing where there is no dialect. */
  #viewOf(route: Route | undefined) {
    const dialect = route?.dialect && 'parse' in route.dialect ? route.dialect : undefined;
    const converts = dialect && isFromChat(this.#options, dialect.name) ? dialect : undefined;
    const isRead = converts || (this.#looksIn && dialect?.name === handlerDialect.name);
    return {
      converts,
      looksBack: this.#looksBack || converts !== undefined,
      dialect: isRead ? dialect : undefined,
    };
  }

  /** What is pending of the handler's reply is read to its end, as far as that is allowed. */
  async #finish(
    exchange: Exchange,
    interception: Interception | undefined,
    pending: Promise<Completion> | undefined,
  ): Promise<void> {
    if (!pending || !interception || interception.ended) return;
    await this.#background.finish(exchange, interception, pending);
  }

  async #onRequest(
    exchange: Exchange,
    passage: ChainRun,
    dialect: GenerationFormat,
    request: IncomingMessage,
    looksBack: boolean,
    body: BufferedBody,
  ): Promise<void> {
    if (!exchange.hasRequest)
      exchange.request = dialect.parse(await readBody(request, this.#options, exchange, body));
    exchange.model ??= this.#catalog.find(exchange.request.model);
    exchange.received_ms ??= exchange.clock.elapsed_ms();
    await passage.onRequest();
    if (!request.readableEnded) {
      // The parent has put a body of its own in place and not read the client's.
      discardBody(request, this.#options, exchange.elapsed_ms);
      await finished(request.resume()).catch(() => {});
    }
    replayBody(request, foreignBody(exchange, looksBack));
  }

  /** What the handler streams, up the chain to the client. */
  #relayStream(
    exchange: Exchange,
    passage: ChainRun,
    dialect: GenerationFormat,
    interception: Interception,
    isInner: boolean,
  ): Promise<void> {
    const { sink } = interception;
    const toClientError = (thrown: unknown) => {
      const error = passage.onError(thrown);
      if (isInner) sink.destroy(error);
      return error;
    };
    const renderer = dialect.renderStream(identityOf(exchange));
    const meter = new StreamMeter(exchange, this.#metrics);
    const chunks = passage.onStream(foreignStream(exchange, interception, meter));
    // A stage may stop reading without a word, or never begin.
    const counted = () => meter.end();
    return writeStream(exchange, sink, chunks, renderer, toClientError, this.#options).finally(counted);
  }
}

/** Somebody else has replied, or has begun to. */
const isAnswered = (response: ServerResponse): boolean => response.headersSent || response.writableEnded;

/** Asks the handler for a chat completion, at the path that it has for them; a later chain reads the same from `originalUrl`. */
function askForChat(request: Incoming, { paths }: Dialect): void {
  const [ownPath, chatPath] = [paths, handlerDialect.paths].map(of =>
    Object.keys(of)[0]!.slice('/v1'.length),
  );
  const own = new RegExp(`${ownPath}(/?)(?=\\?|$)`);
  const chatUrl = (url: string) => url.replace(own, `${chatPath}$1`);
  request.url = chatUrl(request.url ?? '');
  if (request.originalUrl !== undefined) request.originalUrl = chatUrl(request.originalUrl);
}

/** The handler is asked for a reply that can be read here. What is returned gives the client's wish back, for what goes out to it. */
function asked({ headers }: IncomingMessage): () => void {
  const wish = headers['accept-encoding'];
  headers['accept-encoding'] = 'identity';
  return () => {
    if (wish === undefined) delete headers['accept-encoding'];
    else headers['accept-encoding'] = wish;
  };
}

/** Leaves the reply to the handler; the exchange ends when the response does. */
function leave(
  exchange: Exchange,
  response: ServerResponse,
  next: Next,
  settled: () => void,
  idle_ms: number,
): void {
  for (const [name, value] of Object.entries(exchange.replyHeaders)) response.setHeader(name, value);
  const note = () => {
    if (response.headersSent) exchange.end.status || exchange.end.replied(response.statusCode);
  };
  const stopWatching = watchSilence(response, idle_ms, () => {
    exchange.end.causedBy('upstream_failed');
    exchange.log.warn(
      { path: exchange.path, idle_ms },
      'the handler was silent for too long: connection closed',
    );
    response.destroy();
  });
  response.once('finish', () => {
    note();
    exchange.end.replyEnded();
  });
  response.once('close', () => {
    stopWatching();
    note();
    settled();
  });
  next();
}

/** An error goes to the client, or to the chain around this one, which then has the last word on it. */
function refuse(exchange: Exchange, sink: ReplySink, error: GatewayError, isInner: boolean): void {
  if (!isInner) return writeError(exchange, sink, error);
  exchange.end.handedOn(error.type);
  sink.destroy(error);
}
