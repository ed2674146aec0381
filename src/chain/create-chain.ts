import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Registry } from 'prom-client';
import { z } from 'zod';
import type { Chunk, Completion } from '../canonical.ts';
import { Catalog, type Model } from '../catalog/catalog.ts';
import { modelSchema } from '../catalog/model-schema.ts';
import { systemClock } from '../clock.ts';
import type { Dialect } from '../dialects/dialect.ts';
import { Exchange } from '../exchange.ts';
import { discardBody } from '../inbound/discard-body.ts';
import { mountedRouteOf, pathOf, unknownEndpoint } from '../inbound/endpoint.ts';
import { bodyLimits } from '../inbound/limits.ts';
import { readBody, UploadAborted } from '../inbound/read-body.ts';
import { requestIdOf } from '../inbound/request-id.ts';
import { watchClient } from '../inbound/watch-client.ts';
import { streamLimits } from '../outbound/limits.ts';
import { writeError } from '../outbound/write-error.ts';
import { writeJson } from '../outbound/write-reply.ts';
import { writeStream } from '../outbound/write-stream.ts';
import { metered, meteredReply } from '../settlement/meter.ts';
import { outcomeOf, settle } from '../settlement/settle.ts';
import { type AccountsConfig, accountsSchema, ConfiguredAccounts } from '../stores/accounts.ts';
import { createLog, type Log } from '../telemetry/log.ts';
import { Metrics } from '../telemetry/metrics.ts';
import { startServerSpan } from '../telemetry/tracing.ts';
import { decodeStream, decodeWhole } from '../upstream/decode.ts';
import { failureOf, failureOfStatus } from '../upstream/failure.ts';
import { decodeOpenAiReply, encodeOpenAi, OpenAiStreamDecoder } from '../upstream/openai-format.ts';
import { beginningOf } from '../upstream/read-body.ts';
import { Chain, type Passage } from './chain.ts';
import { type Interception, interceptResponse } from './intercept-response.ts';
import { replayBody } from './replay-body.ts';
import type { RequestHandler, StagePlan } from './stage-plan.ts';

/** What the stages of a chain in front of a foreign handler need to know; the same shapes as in a gateway's configuration. */
export const chainOptionsSchema = z.strictObject({
  models: z
    .array(modelSchema.partial({ upstreams: true }))
    .default([])
    .describe('The catalog; `validation` needs it.'),
  accounts: accountsSchema.default({}).describe('Accounts with their keys; `auth` needs them.'),
  ...bodyLimits,
  ...streamLimits,
});

export type ChainOptions = z.input<typeof chainOptionsSchema> & {
  readonly log?: Log;
  /** Where the times of the stages are registered; not measured without it. */
  readonly registry?: Registry;
};

/** What may reach the client of a foreign handler's reply; larger ones are errors. */
const reply_limits = { max_event_bytes: 1_048_576, max_reply_bytes: 67_108_864 };
const error_body_bytes = 64 * 1024;
const openAiFormat = { decodeReply: decodeOpenAiReply, openStream: () => new OpenAiStreamDecoder() };

/** Chains on the same request share its exchange, so that a later one sees the account that an earlier one found. */
const exchanges = new WeakMap<IncomingMessage, Exchange>();

/**
 * Stages in front of a handler that is there already, such as the application's own proxy to an OpenAI-compatible server:
 * `app.use('/v1/chat/completions', createChain([auth(), validation()], { models, accounts }), proxy)`. The handler receives the request
 * as the stages left it, and its reply goes back through them. Requests to other paths pass through `onHeaders` only.
 */
export function createChain(
  stages: readonly { readonly plan: StagePlan }[],
  options: ChainOptions = {},
): RequestHandler {
  const { log, registry, ...rest } = options;
  const checked = chainOptionsSchema.parse(rest);
  const house = new ChainHouse(stages, checked, log ?? createLog(), registry);
  return (request, response, next) => void house.receive(request, response, next);
}

type CheckedOptions = z.output<typeof chainOptionsSchema>;
type Next = (error?: unknown) => void;

class ChainHouse {
  readonly #chain: Chain;
  readonly #catalog: Catalog;
  readonly #log: Log;
  readonly #metrics: Metrics;
  readonly #options: CheckedOptions;
  /** Some stage wants the request; without one the body is left to the handler. */
  readonly #looksIn: boolean;
  /** Some stage wants the reply. */
  readonly #looksBack: boolean;

  constructor(
    entries: readonly { readonly plan: StagePlan }[],
    options: CheckedOptions,
    log: Log,
    registry: Registry | undefined,
  ) {
    this.#options = options;
    this.#log = log;
    this.#metrics = new Metrics(registry ?? new Registry());
    this.#catalog = new Catalog(
      options.models.map(
        model => ({ ...model, upstreams: model.upstreams ?? [], extra_parameters: [] }) as Model,
      ),
    );
    const accounts = new ConfiguredAccounts(options.accounts as AccountsConfig);
    const setup = { catalog: this.#catalog, accounts, log, clock: systemClock };
    this.#chain = new Chain(
      entries.map(({ plan }) => plan.create(setup)),
      registry && this.#metrics,
    );
    this.#looksBack = this.#chain.stages.some(stage => stage.onReply || stage.onStream || stage.onError);
    this.#looksIn = this.#looksBack || this.#chain.stages.some(stage => stage.onRequest);
  }

  /** The way of a request: down the chain, to the handler behind it, and back up. */
  async receive(request: IncomingMessage, response: ServerResponse, next: Next): Promise<void> {
    const path = pathOf((request as { originalUrl?: string }).originalUrl ?? request.url ?? '/');
    const route = mountedRouteOf(path);
    const known = exchanges.get(request);
    const exchange = known ?? this.#begin(request, response, path, route ?? unknownEndpoint);
    const passage = this.#chain.enter(exchange);
    const settled = () => {
      passage.onSettled(known ? outcomeOf(exchange) : settle(exchange, this.#metrics));
    };
    try {
      await passage.onHeaders();
      if (!route?.dialect || !route.methods.includes(exchange.method) || !this.#looksIn) {
        response.once('close', settled);
        return next();
      }
      await this.#onRequest(exchange, passage, route.dialect, request);
      if (!this.#looksBack) {
        response.once('close', settled);
        return next();
      }
      const interception = interceptResponse(response);
      next();
      await this.#relay(exchange, passage, route.dialect, interception);
      settled();
    } catch (thrown) {
      if (thrown instanceof UploadAborted) exchange.clientLeft();
      if (!exchange.client_gone) writeError(exchange, response, passage.onError(thrown));
      discardBody(request, this.#options.max_body_bytes, this.#options.body_idle_ms);
      settled();
    }
  }

  #begin(
    request: IncomingMessage,
    response: ServerResponse,
    path: string,
    endpoint: Exchange['endpoint'],
  ): Exchange {
    const method = request.method ?? 'GET';
    const exchange = new Exchange({
      id: requestIdOf(request.headers),
      endpoint,
      method,
      path,
      headers: request.headers,
      log: this.#log,
      clock: systemClock,
      span: startServerSpan(`${method} ${endpoint.name}`, request.headers),
    });
    this.#metrics.begun(exchange);
    exchanges.set(request, exchange);
    watchClient(exchange, response);
    return exchange;
  }

  async #onRequest(
    exchange: Exchange,
    passage: Passage,
    dialect: Dialect,
    request: IncomingMessage,
  ): Promise<void> {
    if (!exchange.hasRequest)
      exchange.request = dialect.parse(await readBody(request, this.#options, exchange.signal));
    exchange.model ??= this.#catalog.find(exchange.request.model);
    exchange.received_ms = exchange.clock.elapsed_ms();
    await passage.onRequest();
    replayBody(request, foreignBody(exchange));
    // The reply is read here, so it must not come compressed.
    request.headers['accept-encoding'] = 'identity';
  }

  /** What the handler replies, up the chain to the client. The handler's errors get the one envelope as well. */
  async #relay(
    exchange: Exchange,
    passage: Passage,
    dialect: Dialect,
    { head, bytes, sink }: Interception,
  ): Promise<void> {
    const identity = {
      key: randomUUID(),
      created: Math.floor(exchange.clock.epoch_ms() / 1000),
      model: exchange.request.model,
    };
    try {
      if (exchange.request.stream) {
        const toClientError = (thrown: unknown) => passage.onError(thrown);
        const chunks = passage.onStream(metered(exchange, foreignStream(head, bytes), this.#metrics));
        await writeStream(
          exchange,
          sink,
          chunks,
          dialect.renderStream(identity),
          toClientError,
          this.#options,
        );
      } else {
        const reply = await passage.onReply(
          await meteredReply(exchange, foreignReply(head, bytes), this.#metrics),
        );
        writeJson(exchange, sink, 200, dialect.renderReply(identity, reply));
      }
    } catch (thrown) {
      if (!exchange.client_gone) writeError(exchange, sink, passage.onError(thrown));
    }
  }
}

/** The request as the handler receives it: with its own model name, and with usage asked for, so that it can be metered. */
function foreignBody({ request, model }: Exchange): Record<string, unknown> {
  const target = { model: request.model, effortMap: {}, extraParameters: model?.extra_parameters ?? [] };
  const body = encodeOpenAi(request, target);
  if (request.reasoning_effort !== undefined) body.reasoning_effort = request.reasoning_effort;
  if (request.stream) body.stream_options = { ...request.stream_options, include_usage: true };
  return body;
}

async function* foreignStream(
  head: Interception['head'],
  bytes: AsyncIterable<Buffer>,
): AsyncGenerator<Chunk> {
  try {
    const { headers } = await acceptedHead(head, bytes);
    yield* decodeStream(bytes, headers, openAiFormat, reply_limits, () => {});
  } catch (thrown) {
    throw failureOf(thrown, true).error;
  }
}

async function foreignReply(head: Interception['head'], bytes: AsyncIterable<Buffer>): Promise<Completion> {
  try {
    await acceptedHead(head, bytes);
    return await decodeWhole(bytes, openAiFormat, reply_limits);
  } catch (thrown) {
    throw failureOf(thrown, true).error;
  }
}

async function acceptedHead(head: Interception['head'], bytes: AsyncIterable<Buffer>) {
  const { status, headers } = await head;
  if (status < 300) return { headers };
  throw failureOfStatus(status, headers, await beginningOf(bytes, error_body_bytes).catch(() => ''), false)
    .error;
}
