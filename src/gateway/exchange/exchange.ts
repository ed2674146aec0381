import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { Span } from '@opentelemetry/api';
import type { Clock } from '../../common/clock.ts';
import type { Log } from '../../telemetry/log.ts';
import { markEvent, traceIdOf } from '../../telemetry/tracing.ts';
import type { Account } from '../accounts/accounts.ts';
import type { Model } from '../catalog/catalog.ts';
import { type AttemptStart, RunningAttempt } from './attempt-record.ts';
import type { ChatRequest } from './canonical.ts';
import { type Cause, type EndReason, ExchangeEnd } from './exchange-end.ts';
import type { Endpoint, ExchangeView, Key, RunningUsage, StageRecord } from './exchange-view.ts';

/** Input for an exchange, known when its headers have arrived. */
export interface ExchangeStart {
  readonly id: string;
  readonly endpoint: Endpoint;
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly incoming: IncomingMessage;
  /** Network address of the client, or of the proxy before it; empty if unknown. */
  readonly client_address: string;
  readonly log: Log;
  readonly clock: Clock;
  readonly span: Span;
}

/** What has timed the hooks of a chain in an exchange. */
export interface StageTimeline {
  /** Hooks that have ended, in the order in which they began; at most `limit`. */
  records(limit: number): StageRecord[];
}

const none: readonly never[] = [];

const readTooEarly = (): never => {
  throw new Error('exchange.request is there from onRequest on, not before');
};
/** The request of an exchange whose body was not read: a look into it throws. A property costs less than a check at every look. */
const notRead = new Proxy({} as ChatRequest, {
  get: readTooEarly,
  set: readTooEarly,
  has: readTooEarly,
  deleteProperty: readTooEarly,
  ownKeys: readTooEarly,
});

/** One request and its reply, from the first header to settlement. Stages see only its `ExchangeView`, which describes what it has of it. */
export class Exchange implements ExchangeView {
  readonly id: string;
  readonly endpoint: Endpoint;
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly incoming: IncomingMessage;
  /** Network address of the client, for the log only. */
  readonly client_address: string;
  readonly clock: Clock;
  readonly span: Span;
  /** Id of the recorded trace, if any; in the log, and in exemplars of the histograms. */
  readonly trace_id: string | undefined;
  readonly started_ms: number;
  readonly started_epoch_ms: number;

  request: ChatRequest = notRead;
  account: Account | undefined;
  model: Model | undefined;
  /** The model's name in the request as it came; undefined until the body was read. */
  requested_model: string | undefined;
  reply_model: string | undefined;
  /** Operation in the words of OpenTelemetry's GenAI conventions; undefined if they have none for it. */
  operation: string | undefined = 'chat';
  /** Headers that stages add to the reply, whatever it is. */
  readonly replyHeaders: Record<string, string> = {};
  readonly usage: RunningUsage = {
    prompt_tokens: 0,
    completion_tokens: 0,
    cached_tokens: 0,
    completion_details: undefined,
    estimated: true,
  };
  attempts: readonly RunningAttempt[] = none;
  /** Times of the stages, one for each chain that it has entered. */
  stageTimelines: readonly StageTimeline[] = none;
  /** Time spent waiting for upstreams, over all attempts: for a first event or whole reply, for a permit, before a retry. */
  upstream_wait_ms = 0;
  /** Time of the first chunk with text or a tool call, on `clock.elapsed_ms`. */
  first_token_ms: number | undefined;
  /** Time at which the first byte of the reply was written. */
  replied_ms: number | undefined;
  /** Time at which the body had been read. */
  received_ms: number | undefined;
  /** Decides the exchange's end reason and status. */
  readonly end = new ExchangeEnd();
  /** True once its reply no longer goes to the client, who may leave. */
  isDetached = false;

  readonly #log: Log;
  #exchangeLog: Log | undefined;
  #abort: AbortController | undefined;
  #aborted = false;
  #abortListeners: (() => void)[] | undefined;
  /** What stages have left, by keys: few, so that a list of keys and values is shorter than a table. */
  #left: unknown[] | undefined;

  constructor(start: ExchangeStart) {
    this.id = start.id;
    this.endpoint = start.endpoint;
    this.method = start.method;
    this.path = start.path;
    this.headers = start.headers;
    this.incoming = start.incoming;
    this.client_address = start.client_address;
    this.clock = start.clock;
    this.span = start.span;
    this.trace_id = traceIdOf(start.span);
    this.started_ms = start.clock.elapsed_ms();
    this.started_epoch_ms = start.clock.epoch_ms();
    this.#log = start.log;
  }

  get end_reason(): EndReason | undefined {
    return this.end.cause;
  }

  /** True if the connection was closed before the reply was complete. */
  get client_gone(): boolean {
    return this.end.client_gone;
  }

  get elapsed_ms(): number {
    return this.clock.elapsed_ms() - this.started_ms;
  }

  get log(): Log {
    const { trace_id } = this;
    this.#exchangeLog ??= this.#log.child({
      request_id: this.id,
      ...(trace_id !== undefined && { trace_id }),
    });
    return this.#exchangeLog;
  }

  isLogged(level: 'info' | 'debug'): boolean {
    return this.#log.isLevelEnabled(level);
  }

  get hasRequest(): boolean {
    return this.request !== notRead;
  }

  get signal(): AbortSignal {
    if (!this.#abort) {
      const controller = new AbortController();
      this.#abort = controller;
      this.onAbort(() => controller.abort());
    }
    return this.#abort.signal;
  }

  get aborted(): boolean {
    return this.#aborted;
  }

  /** Calls `listener` when `signal` aborts, at once if it has. Much cheaper than the signal, for code that runs in every request. */
  onAbort(listener: () => void): void {
    if (this.#aborted) listener();
    else if (this.#abortListeners) this.#abortListeners.push(listener);
    else this.#abortListeners = [listener];
  }

  offAbort(listener: () => void): void {
    const at = this.#abortListeners?.indexOf(listener) ?? -1;
    if (at >= 0) this.#abortListeners!.splice(at, 1);
  }

  /** Ends the exchange early. The first reason counts. */
  abort(reason: Cause): void {
    this.end.causedBy(reason);
    if (this.#aborted) return;
    this.#aborted = true;
    // One may take another away.
    for (let next = this.#abortListeners?.shift(); next; next = this.#abortListeners?.shift()) next();
  }

  /** Called instead of aborting when the client leaves, while a reply that will be billed is read to its end. */
  insteadOfAbort: (() => void) | undefined;

  /** Called when the client leaves, even if its reply is read on; to cancel work that has not begun. */
  whenLeft: (() => void) | undefined;

  /** Called when the reply has begun, so that no attempt follows and the request is not encoded again. */
  whenAnswered: (() => void) | undefined;

  /** Reports that the connection was closed before the reply was complete. */
  clientLeft(): void {
    this.end.clientLeft();
    markEvent(this.span, 'client_gone');
    this.whenLeft?.();
    if (this.insteadOfAbort) this.insteadOfAbort();
    else this.abort('client_gone');
  }

  get provider(): string | undefined {
    return this.attempts.at(-1)?.provider;
  }

  /** Records an attempt that begins now. */
  beginAttempt(facts?: AttemptStart): RunningAttempt {
    const attempt = new RunningAttempt(this.clock, this.started_ms, facts);
    this.attempts = this.attempts.length === 0 ? [attempt] : [...this.attempts, attempt];
    return attempt;
  }

  authenticate(account: Account): void {
    this.account = account;
  }

  get<T>(key: Key<T>): T | undefined {
    return this.#left?.[this.#placeOf(key) + 1] as T | undefined;
  }

  set<T>(key: Key<T>, value: T): void {
    if (!this.#left) {
      this.#left = [key, value];
      return;
    }
    const at = this.#placeOf(key);
    this.#left[at] = key;
    this.#left[at + 1] = value;
  }

  /** Where a key is, or would be added. */
  #placeOf(key: Key<unknown>): number {
    const left = this.#left!;
    let at = 0;
    while (at < left.length && left[at] !== key) at += 2;
    return at;
  }
}
