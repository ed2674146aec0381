import type { IncomingMessage, ServerResponse } from 'node:http';
import { context, trace } from '@opentelemetry/api';
import type { Log } from '../../telemetry/log.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import type { ThrottledLog } from '../../telemetry/throttled-log.ts';
import { allName, forbiddenModel } from '../accounts/model-lists.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { GenerationFormat, RequestAnswers, RequestFormat } from '../dialects/define-dialect.ts';
import type { BodyLimits } from '../inbound/body-limits.ts';
import { BufferedBody, type BufferedBytes } from '../inbound/buffered-bytes.ts';
import { discardBody } from '../inbound/discard-body.ts';
import { readBody } from '../inbound/read-body.ts';
import { UploadAborted } from '../inbound/upload.ts';
import type { StreamLimits } from '../outbound/reply-limits.ts';
import { identityOf, shapeReply } from '../outbound/reply-shape.ts';
import type { ReplySink } from '../outbound/reply-sink.ts';
import { sendStream } from '../outbound/send-stream.ts';
import { beforeTimeLimit, type ReplyTaker } from '../outbound/time-limit.ts';
import { writeError, writeJson } from '../outbound/write-reply.ts';
import type { Background } from '../settlement/background.ts';
import { outcomeOf } from '../settlement/settle.ts';
import { meteredReply, meterFailure, StreamMeter } from '../settlement/stream-meter.ts';
import type { TokenCounter } from '../settlement/token-estimator.ts';
import { estimatePrompt } from '../settlement/usage-meter.ts';
import { AnswerSource } from './answer-source.ts';
import type { ChatRequest, Completion } from './canonical.ts';
import type { Chain, ChainRun } from './chain.ts';
import type { GatewayError } from './errors.ts';
import type { Exchange } from './exchange.ts';
import type { Outcome } from './exchange-view.ts';
import { discardAnswer } from './hook-result.ts';
import { logError } from './log-error.ts';
import type { ReplySource } from './reply-source.ts';
import type { Answer } from './stage.ts';

/** Parts that all exchanges of one gateway or chain share. */
export interface RunnerParts {
  readonly chain: Chain;
  readonly catalog: Catalog;
  readonly limits: BodyLimits & StreamLimits & { readonly non_stream_timeout_ms: number };
  readonly metrics: Metrics;
  readonly log: Log;
  readonly background: Background;
  readonly buffered: BufferedBytes;
  /** Writes what is logged of outages of providers. */
  readonly outages?: ThrottledLog<string>;
  /** Creates counters for upstreams that report no usage; an estimator by default. */
  readonly newCounter?: () => TokenCounter;
}

/** One exchange as prepared by its gateway or chain: everything in which the two differ. */
export interface PreparedExchange {
  readonly exchange: Exchange;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Error with which the exchange is refused before any stage sees it. */
  readonly refusal?: GatewayError | undefined;
  /** Why the application's body parser could not read the body; thrown after `onHeaders` of the stages. */
  readonly parserFault?: Error | undefined;
  /** Format of the request. Without one, stages see only its headers, and `pass` answers. */
  readonly format: RequestFormat | undefined;
  /** True if an outer chain decides about the client's errors, time limits and slow reading. */
  readonly isInner: boolean;
  /** Source of the reply, after the stages have let the request through. Without one, `pass` answers. */
  source(): ReplySource | undefined | Promise<ReplySource | undefined>;
  /** Answers without passing the reply through the stages. Resolves when the reply is over. */
  pass(): void | Promise<void>;
  /** Settles the exchange: metrics, ledger and log. Called once. */
  settle(): Outcome | Promise<Outcome>;
  /** Ends the exchange's span, after everything that belongs below it. Called once. */
  endSpan(): void;
}

/**
 * Runs an exchange: headers and body through the stages, a reply from its source, back through the stages and out. Any throw becomes an
 * error reply, or an error event once the stream has begun; every path ends in settlement, once.
 */
export class ExchangeRun implements ReplyTaker<Completion, void> {
  readonly exchange: Exchange;
  readonly #parts: RunnerParts;
  readonly #prepared: PreparedExchange;
  readonly #stages: ChainRun;
  #body: BufferedBody | undefined;
  #source: ReplySource | undefined;
  #meter: StreamMeter | undefined;
  /** The whole reply while pending; it may be read on after its client has had an answer. */
  #pending: Promise<unknown> | undefined;

  constructor(parts: RunnerParts, prepared: PreparedExchange) {
    this.#parts = parts;
    this.#prepared = prepared;
    this.exchange = prepared.exchange;
    this.#stages = parts.chain.enter(prepared.exchange, parts.limits.non_stream_timeout_ms);
  }

  /** Fails a hook that has not settled, and any that is called later. */
  abandon(): void {
    this.#stages.abandon();
  }

  /** Resolves when the exchange is settled. Never rejects: an error of the settlement is logged. */
  run(): Promise<void> {
    const { span, trace_id } = this.exchange;
    // Spans that stages open, themselves or through instrumented libraries, are children of the exchange's.
    return trace_id !== undefined
      ? context.with(trace.setSpan(context.active(), span), () => this.#run())
      : this.#run();
  }

  /** The one asynchronous function of most exchanges: where nothing has to be waited for, it goes on in the same turn. */
  async #run(): Promise<void> {
    let outcome: Outcome | undefined;
    try {
      try {
        // Always awaited: the code that has called may not have finished with the request, such as a parser in whose `end` event this runs.
        await this.#enter();
        const asking = this.#ask();
        const answering = this.#answer(asking instanceof Promise ? await asking : asking);
        if (answering) await answering;
      } catch (thrown) {
        this.#fail(thrown);
      } finally {
        const finishing = this.#finish();
        if (finishing) await finishing;
      }
    } catch (err) {
      this.#broke(err);
    }
    try {
      const settled = this.#prepared.settle();
      outcome = settled instanceof Promise ? await settled : settled;
    } catch (err) {
      this.#broke(err);
    }
    this.#release(outcome);
  }

  #enter(): void | Promise<void> {
    if (this.#prepared.refusal) throw this.#prepared.refusal;
    return this.#stages.onHeaders();
  }

  /** Reads the request, unless an earlier chain has, and runs the stages on it. Undefined if the stages see only its headers. */
  #ask(): Answer | undefined | Promise<Answer | undefined> {
    const { format, parserFault, request } = this.#prepared;
    if (parserFault) throw parserFault;
    if (!format) return undefined;
    const { limits, buffered } = this.#parts;
    const held = new BufferedBody(buffered, this.exchange);
    this.#body = held;
    if (this.exchange.hasRequest) return this.#askStages(format);
    const body = readBody(request, limits, this.exchange, held);
    return body instanceof Promise
      ? body.then(read => this.#parse(read, format, held))
      : this.#parse(body, format, held);
  }

  #parse(body: Record<string, unknown>, format: RequestFormat, held: BufferedBody) {
    const { exchange } = this;
    if (held.isLarge) exchange.whenAnswered = () => held.sent();
    const { path, headers, account } = exchange;
    const context = { path, headers, account_id: account?.id };
    const completing = format.complete?.(body, context);
    if (completing) return completing.then(whole => this.#askStages(format, format.parse(whole, context)));
    return this.#askStages(format, format.parse(body, context));
  }

  #askStages(format: RequestFormat, request?: ChatRequest): Answer | undefined | Promise<Answer | undefined> {
    const { exchange } = this;
    const { catalog, chain } = this.#parts;
    if (request) exchange.request = request;
    if (request?.operation) chain.enterOperation(exchange, request.operation);
    const { model } = exchange.request;
    exchange.requested_model ??= model;
    exchange.model ??= catalog.find(model);
    exchange.received_ms ??= exchange.clock.elapsed_ms();
    return this.#stages.onRequest(catalog, format);
  }

  #answer(answer: Answer | undefined): void | Promise<void> {
    const { exchange } = this;
    const { format, response } = this.#prepared;
    // While a stage was running, the client has left or the application has answered.
    if (exchange.client_gone || response.headersSent || response.writableEnded) return discardAnswer(answer);
    if (exchange.account?.model_lists && format) checkModel(exchange, answer);
    if (format && 'answerRequest' in format) {
      // What a stage has answered is a generated reply.
      discardAnswer(answer);
      return this.#answerItself(format);
    }
    const source = answer
      ? new AnswerSource(exchange, answer, chunk => this.#stages.expectChunk(chunk))
      : this.#prepared.source();
    if (!(source instanceof Promise)) return this.#send(source);
    return source.then(found => {
      this.#source = found;
      return exchange.client_gone ? undefined : this.#send(found);
    });
  }

  #send(source: ReplySource | undefined): void | Promise<void> {
    const { format } = this.#prepared;
    this.#source = source;
    if (!format || !source || 'answerRequest' in format) return this.#prepared.pass();
    return this.exchange.request.stream ? this.#sendStream(format, source) : this.#sendWhole(source);
  }

  /** Ends the reply; a promise if it is read on for the bill. */
  #finish(): void | Promise<void> {
    const { exchange } = this;
    discardBody(this.#prepared.request, this.#parts.limits, exchange);
    if (this.#pending)
      return this.#parts.background
        .finish(exchange, this.#source, this.#pending)
        .then(() => this.#endUsage());
    this.#source?.cancel();
    this.#endUsage();
  }

  #endUsage(): void {
    // A stage may have stopped reading silently, or never have begun.
    this.#meter?.end();
    this.#source?.settled?.();
  }

  /** Releases what the exchange holds and tells its stages, whatever has failed: it may have been the price. */
  #release(outcome: Outcome | undefined): void {
    try {
      this.#body?.release();
      this.#stages.onSettled(outcome ?? outcomeOf(this.exchange, '0'));
      this.#prepared.endSpan();
    } catch (err) {
      this.#broke(err);
    }
  }

  #broke(err: unknown): void {
    const { request, response } = this.#prepared;
    this.#parts.log.fatal({ err, request_id: this.exchange.id }, 'failed to finalize request');
    // Otherwise the client would wait for the rest of its reply.
    if (!response.writableEnded) request.socket.destroy();
  }

  /** Sends the error to the client, or hands it to the chain around this one. */
  #fail(thrown: unknown): void {
    const { exchange } = this;
    if (thrown instanceof UploadAborted) exchange.clientLeft();
    if (this.#pending && exchange.end_reason === 'time_limit') this.#source?.readOn?.(this.#pending);
    if (exchange.client_gone) return;
    const error = this.#clientError(thrown);
    if (!this.#prepared.isInner) writeError(exchange, this.#sink, error);
  }

  /** The error for the client, as the stages leave it: logged, or handed to the chain around this one. */
  #clientError(thrown: unknown): GatewayError {
    const error = this.#stages.onError(thrown);
    if (this.#prepared.isInner) this.#handOn(error);
    else logError(this.exchange, error, this.#stages.originOf(error.cause), this.#parts.outages);
    return error;
  }

  get #sink(): ReplySink {
    return this.#source?.sink ?? this.#prepared.response;
  }

  #sendStream(format: GenerationFormat, source: ReplySource): Promise<void> {
    const { metrics, newCounter } = this.#parts;
    const { isInner } = this.#prepared;
    const meter = new StreamMeter(this.exchange, metrics, newCounter);
    this.#meter = meter;
    const chunks = this.#stages.onStream(source.stream(), meter);
    const renderer = format.renderStream(identityOf(this.exchange), () => this.#promptTokens());
    const toClientError = (thrown: unknown) => this.#clientError(thrown);
    const limits = isInner ? { ...this.#parts.limits, slow_client_ms: Infinity } : this.#parts.limits;
    return sendStream(this.exchange, this.#sink, chunks, renderer, toClientError, limits);
  }

  #sendWhole(source: ReplySource): Promise<void> {
    const reply = source.reply();
    this.#pending = reply;
    if (!this.#prepared.isInner) {
      const { non_stream_timeout_ms } = this.#parts.limits;
      return beforeTimeLimit(reply, this.exchange, non_stream_timeout_ms, source.outlivesClient, this);
    }
    const failed = (thrown: unknown) => {
      this.replyFailed(thrown);
      throw thrown;
    };
    return reply.then(came => this.sendReply(this.replied(came)), failed);
  }

  /** Counts the whole reply, before any stage sees it. */
  replied(reply: Completion): Completion {
    return meteredReply(this.exchange, reply, this.#parts.metrics, this.#parts.newCounter);
  }

  /** Counts a whole reply that did not come. */
  replyFailed(thrown: unknown): void {
    meterFailure(this.exchange, thrown, this.#parts.metrics, this.#parts.newCounter);
  }

  /** Sends a whole reply through the stages. */
  sendReply(reply: Completion): void | Promise<void> {
    this.#pending = undefined;
    const shaped = this.#stages.onReply(reply);
    return shaped instanceof Promise
      ? shaped.then(whole => this.#writeWhole(whole))
      : this.#writeWhole(shaped);
  }

  #writeWhole(reply: Completion): void | Promise<void> {
    const { exchange } = this;
    const format = this.#prepared.format as GenerationFormat;
    const whole = shapeReply(exchange, reply);
    const identity = identityOf(exchange);
    const keeping = format.keep?.(identity, whole);
    if (keeping)
      return keeping.then(() => writeJson(exchange, this.#sink, 200, format.renderReply(identity, whole)));
    writeJson(exchange, this.#sink, 200, format.renderReply(identity, whole));
  }

  /** Answers a request that needs no upstream. */
  #answerItself(format: RequestAnswers): void {
    const { exchange } = this;
    const body = format.answerRequest(identityOf(exchange), () => this.#promptTokens());
    writeJson(exchange, this.#sink, 200, body);
  }

  /** Tokens of the prompt: as the upstream has reported them, else estimated. */
  #promptTokens(): number {
    const { usage, request } = this.exchange;
    return usage.prompt_tokens || estimatePrompt(request, this.#parts.newCounter?.());
  }

  #handOn(error: GatewayError): void {
    this.exchange.end.handedOn(error.type);
    this.#sink.destroy(error);
  }
}

/** Throws for a model, as the stages have left it, that the account or its key may not use. */
function checkModel({ account, model, request }: Exchange, answer: Answer | undefined): void {
  const lists = account!.model_lists!;
  const id = model?.id ?? request.model;
  if (allName(lists, id)) return;
  discardAnswer(answer);
  throw forbiddenModel(id, lists);
}
