import type { IncomingMessage, ServerResponse } from 'node:http';
import { finished } from 'node:stream/promises';
import { Registry } from 'prom-client';
import { z } from 'zod';
import { Catalog, type Model } from '../catalog/catalog.ts';
import { modelSchema } from '../catalog/model-schema.ts';
import { systemClock } from '../clock.ts';
import type { Dialect } from '../dialects/dialect.ts';
import { chatCompletionsSchema, type Dialects, dialectsOf, responsesSchema } from '../dialects/dialects.ts';
import type { GatewayError } from '../errors.ts';
import type { Exchange } from '../exchange.ts';
import { discardBody } from '../inbound/discard-body.ts';
import { unknownEndpoint } from '../inbound/endpoint.ts';
import { bodyLimits } from '../inbound/limits.ts';
import { readBody, UploadAborted } from '../inbound/read-body.ts';
import { replayBody } from '../inbound/replay-body.ts';
import { streamLimits } from '../outbound/limits.ts';
import { identityOf } from '../outbound/reply-identity.ts';
import type { ReplySink } from '../outbound/reply-sink.ts';
import { writeError } from '../outbound/write-error.ts';
import { writeJson } from '../outbound/write-reply.ts';
import { writeStream } from '../outbound/write-stream.ts';
import { meteredReply, StreamMeter } from '../settlement/meter.ts';
import { outcomeOf, settle } from '../settlement/settle.ts';
import { type AccountsConfig, accountsSchema, ConfiguredAccounts } from '../stores/accounts.ts';
import { plansSchema } from '../stores/limits.ts';
import { MemoryStateStore } from '../stores/state/memory.ts';
import type { StateStore } from '../stores/state/state-store.ts';
import { createLog, type Log } from '../telemetry/log.ts';
import { Metrics } from '../telemetry/metrics.ts';
import { Chain, type Passage } from './chain.ts';
import { foreignBody, foreignReply, foreignStream } from './foreign-handler.ts';
import { assertHeld } from './held-limits.ts';
import { type Interception, interceptResponse, isIntercepted } from './intercept-response.ts';
import type { RequestHandler, StagePlan } from './stage-plan.ts';
import { type Incoming, routeFor, visitOf } from './visit.ts';

/** What the stages of a chain in front of a foreign handler need to know; the same shapes as in a gateway's configuration. */
export const chainOptionsSchema = z.strictObject({
  models: z
    .array(modelSchema.partial({ upstreams: true }))
    .default([])
    .describe('The catalog; `validation` needs it.'),
  accounts: accountsSchema.default({}).describe('Accounts with their keys; `auth` needs them.'),
  plans: plansSchema.default({}).describe('Limits by plan; `rate-limit` holds them.'),
  chat_completions: chatCompletionsSchema
    .prefault({})
    .describe('How replies that stages look at are written, as in a configuration: `{ reasoning_key }`.'),
  responses: responsesSchema
    .extend({
      from_chat: z
        .boolean()
        .default(false)
        .describe('Answer `/v1/responses` here, asking the handler for a chat completion.'),
    })
    .prefault({})
    .describe(
      'What becomes of `/v1/responses`: left to the handler, which must speak that format, so that the stages see no more of it than of any other path; or with `from_chat: true` answered by the chain, which asks the handler for `/v1/chat/completions` instead. `reasoning_placement` as in a configuration.',
    ),
  ...bodyLimits,
  ...streamLimits,
});

export type ChainOptions = z.input<typeof chainOptionsSchema> & {
  readonly log?: Log;
  /** Where the times of the stages are registered; not measured without it. */
  readonly registry?: Registry;
  /** Counters and concurrency, where several chains or gateways share them; in this chain's memory without it. */
  readonly state?: StateStore;
};

type CheckedOptions = z.output<typeof chainOptionsSchema>;
type Next = (error?: unknown) => void;

/**
 * Stages in front of a handler that is there already, such as the application's own proxy to an OpenAI-compatible server:
 * `app.use('/v1/chat/completions', createChain([auth(), validation()], { models, accounts }), proxy)`. The handler receives the request
 * as the stages left it, and its reply goes back through them. Requests to other paths pass through `onHeaders` only.
 */
export function createChain(
  stages: readonly { readonly plan: StagePlan }[],
  options: ChainOptions = {},
): RequestHandler {
  const { log = createLog('warn'), registry, state = new MemoryStateStore(), ...rest } = options;
  const house = new ChainHouse(stages, chainOptionsSchema.parse(rest), log, state, registry);
  return (request, response, next) => {
    house.receive(request, response, next).catch(fault => {
      log.fatal({ err: fault }, 'an exchange could not be ended');
      request.socket.destroy();
    });
  };
}

class ChainHouse {
  readonly #chain: Chain;
  readonly #catalog: Catalog;
  readonly #log: Log;
  readonly #metrics: Metrics;
  /** The metrics if they go anywhere. */
  readonly #measured: Metrics | undefined;
  readonly #options: CheckedOptions;
  readonly #dialects: Dialects;
  /** Some stage wants the request; without one the body is left to the handler. */
  readonly #looksIn: boolean;
  /** Some stage wants the reply. */
  readonly #looksBack: boolean;

  constructor(
    entries: readonly { readonly plan: StagePlan }[],
    options: CheckedOptions,
    log: Log,
    state: StateStore,
    registry: Registry | undefined,
  ) {
    const names = entries.map(({ plan }) => plan.name);
    assertHeld(options.plans, names);
    this.#options = options;
    this.#dialects = dialectsOf(options);
    this.#log = log;
    this.#metrics = Metrics.on(registry ?? new Registry());
    this.#measured = registry && this.#metrics;
    this.#catalog = new Catalog(
      options.models.map(
        model => ({ ...model, upstreams: model.upstreams ?? [], extra_parameters: [] }) as Model,
      ),
    );
    const accounts = new ConfiguredAccounts(options.accounts as AccountsConfig);
    const setup = {
      catalog: this.#catalog,
      accounts,
      plans: options.plans,
      state,
      metrics: this.#metrics.limits,
      log,
      clock: systemClock,
    };
    this.#chain = new Chain(
      entries.map(({ plan }) => plan.create(setup)),
      this.#measured,
    );
    this.#looksBack = this.#chain.stages.some(stage => stage.onReply || stage.onStream || stage.onError);
    this.#looksIn = this.#looksBack || this.#chain.stages.some(stage => stage.onRequest);
  }

  /** The way of a request: down the chain, to the handler behind it, and back up. */
  async receive(request: Incoming, response: ServerResponse, next: Next): Promise<void> {
    if (isAnswered(response)) return next();
    const route = routeFor(request);
    const visit = visitOf(request, response, route ?? unknownEndpoint, this.#log, this.#measured);
    const { exchange, isFirst } = visit;
    const passage = this.#chain.enter(exchange);
    const settled = () =>
      passage.onSettled(isFirst ? settle(exchange, visit.metrics() ?? this.#metrics) : outcomeOf(exchange));
    const isInner = isIntercepted(response);
    let sink: ReplySink = response;
    let isLeft = false;
    try {
      await passage.onHeaders();
      const converts = route?.name === 'responses' && this.#options.responses.from_chat;
      const looksBack = this.#looksBack || converts;
      const isRead = converts || (this.#looksIn && route?.name === 'chat.completions');
      const dialect = isRead ? this.#dialects[route.name] : undefined;
      if (dialect) await this.#onRequest(exchange, passage, dialect, request, looksBack);
      if (converts) askForChat(request);
      if (exchange.client_gone || isAnswered(response)) return;
      exchange.attempts = 1;
      if (!dialect || !looksBack) {
        isLeft = true;
        return leave(exchange, response, next, settled);
      }
      const interception = interceptResponse(response, asked(request));
      sink = interception.sink;
      next();
      await this.#relay(exchange, passage, dialect, interception, isInner);
    } catch (thrown) {
      if (thrown instanceof UploadAborted) exchange.clientLeft();
      if (!exchange.client_gone) refuse(exchange, sink, passage.onError(thrown), isInner);
      discardBody(request, this.#options.max_body_bytes, this.#options.body_idle_ms);
    } finally {
      // How it ended is known to a later chain when the first one has written, which it does last.
      if (!isLeft && (isFirst || response.closed)) settled();
      else if (!isLeft) response.once('close', settled);
    }
  }

  async #onRequest(
    exchange: Exchange,
    passage: Passage,
    dialect: Dialect,
    request: IncomingMessage,
    looksBack: boolean,
  ): Promise<void> {
    if (!exchange.hasRequest)
      exchange.request = dialect.parse(await readBody(request, this.#options, exchange));
    exchange.model ??= this.#catalog.find(exchange.request.model);
    exchange.received_ms ??= exchange.clock.elapsed_ms();
    await passage.onRequest();
    if (!request.readableEnded) {
      // The parent has put a body of its own in place and not read the client's.
      discardBody(request, this.#options.max_body_bytes, this.#options.body_idle_ms);
      await finished(request.resume()).catch(() => {});
    }
    replayBody(request, foreignBody(exchange, looksBack));
  }

  /** What the handler replies, up the chain to the client. */
  async #relay(
    exchange: Exchange,
    passage: Passage,
    dialect: Dialect,
    interception: Interception,
    isInner: boolean,
  ): Promise<void> {
    const { sink } = interception;
    const identity = identityOf(exchange);
    if (exchange.request.stream) {
      const toClientError = (thrown: unknown) => {
        const error = passage.onError(thrown);
        if (isInner) sink.destroy(error);
        return error;
      };
      const renderer = dialect.renderStream(identity);
      const meter = new StreamMeter(exchange, this.#metrics);
      const chunks = passage.onStream(foreignStream(exchange, interception, meter));
      // A stage may stop reading without a word, or never begin.
      const counted = () => meter.end();
      return writeStream(exchange, sink, chunks, renderer, toClientError, this.#options).finally(counted);
    }
    const reply = foreignReply(exchange, interception);
    const shaped = await passage.onReply(await meteredReply(exchange, reply, this.#metrics));
    writeJson(exchange, sink, 200, dialect.renderReply(identity, shaped));
  }
}

/** Somebody else has replied, or has begun to. */
const isAnswered = (response: ServerResponse): boolean => response.headersSent || response.writableEnded;

/** Asks the handler for a chat completion, at the path that it has for them; a later chain reads the same from `originalUrl`. */
function askForChat(request: Incoming): void {
  const chatUrl = (url: string) => url.replace(/\/responses(\/?)(?=\?|$)/, '/chat/completions$1');
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
function leave(exchange: Exchange, response: ServerResponse, next: Next, settled: () => void): void {
  for (const [name, value] of Object.entries(exchange.replyHeaders)) response.setHeader(name, value);
  const note = () => {
    if (response.headersSent) exchange.status ||= response.statusCode;
  };
  response.once('finish', () => {
    note();
    exchange.reply_ended = true;
  });
  response.once('close', () => {
    note();
    settled();
  });
  next();
}

/** An error goes to the client, or to the chain around this one, which then has the last word on it. */
function refuse(exchange: Exchange, sink: ReplySink, error: GatewayError, isInner: boolean): void {
  if (!isInner) return writeError(exchange, sink, error);
  exchange.end_reason ??= error.type === 'server_error' ? 'internal_error' : 'refused';
  sink.destroy(error);
}
