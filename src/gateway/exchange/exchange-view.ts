import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { Span } from '@opentelemetry/api';
import type { Clock } from '../../common/clock.ts';
import type { Log } from '../../telemetry/log.ts';
import type { Account } from '../accounts/accounts.ts';
import type { Model } from '../catalog/catalog.ts';
import type { DialectHeaders } from '../dialects/dialect-headers.ts';
import type { AttemptRecord } from './attempt-record.ts';
import type { ChatRequest, Usage } from './canonical.ts';
import type { GatewayError } from './errors.ts';
import type { EndReason } from './exchange-end.ts';

/** An endpoint. A `public` one needs no key. */
export interface Endpoint {
  /** Name of its dialect, or `passthrough` or `unknown`: the label in metrics, spans and the ledger. */
  readonly name: string;
  /** Whether its requests need no key. */
  readonly public: boolean;
  /** False if its requests are answered without an upstream, so that they use no tokens. */
  readonly generates?: boolean | undefined;
  /** True if its requests count under no limit and in no usage, such as those that ask what was used. */
  readonly uncounted?: boolean | undefined;
  /**
   * The most that a call may use whose body is passed on unread, for hard limits; undefined if it uses nothing. It is an estimate: a body
   * without words has more tokens.
   */
  mostUse?(call: Pick<ExchangeView, 'path' | 'headers'>): UnreadUse | undefined;
  /** Error body for this endpoint; OpenAI's envelope by default. */
  errorBody?(error: GatewayError): string;
  /** Headers of its clients beside those of every endpoint. */
  readonly headers?: DialectHeaders | undefined;
}

/** What a call may use whose body is passed on unread. */
export interface UnreadUse {
  /** Tokens of the prompt and of the completion. */
  readonly tokens: number;
  /** Billionths of a US dollar, rounded up. */
  readonly nano_usd: number;
}

/** Tokens known or estimated so far. An upstream's own figure may be below the estimate that it replaces. */
export interface RunningUsage {
  /** Tokens of the prompt, cached ones included. */
  prompt_tokens: number;
  /** Tokens generated so far, reasoning included. */
  completion_tokens: number;
  /** Tokens of the prompt that the provider had cached. */
  cached_tokens: number;
  /** Tokens of the prompt that the provider has put into its cache, if it says so. */
  cache_creation_tokens?: number | undefined;
  /** The upstream's own breakdown, unchanged. */
  completion_details: Usage['completion_tokens_details'];
  /** False once the upstream's own figure covers all that was generated. */
  estimated: boolean;
}

/** Record of an exchange that has ended, exactly one each; for metrics, logs, the ledger and `onSettled`. */
export interface Outcome {
  /** The request id. */
  readonly id: string;
  /** The endpoint's name. */
  readonly endpoint: string;
  /** Id of the account; undefined without one. */
  readonly account: string | undefined;
  /** Catalog id; undefined if the request named no known model. */
  readonly model: string | undefined;
  /** The name that the client asked for, if it is not the id of `model`; at most 300 characters. */
  readonly requested_model: string | undefined;
  /** How the exchange ended. */
  readonly end_reason: EndReason;
  /** The HTTP status sent, or 0 when the client left before one was. */
  readonly status: number;
  /** `error.type` of the envelope or error event, if one was sent. */
  readonly error_type: string | undefined;
  /** Name of that error in the catalogue; undefined for an error of a plugin's own. */
  readonly code: string | undefined;
  /** The message of that error, without quotations of the prompt, at most 300 characters. */
  readonly error_message: string | undefined;
  /** The request field at fault, by the client's name. */
  readonly error_param: string | undefined;
  /** Name of the usage limit that refused the request. */
  readonly limit: string | undefined;
  /** Whether a stream was asked for; undefined if the request was not read. */
  readonly stream: boolean | undefined;
  /** Id of the recorded trace, if any. */
  readonly trace_id: string | undefined;
  /** Billed usage. All zero if the upstream generated nothing. */
  readonly usage: Readonly<RunningUsage>;
  /** Exact decimal string, from the catalog's prices. */
  readonly cost_usd: string;
  /** What its providers are paid, likewise; undefined if their prices are unknown. For operators, not for the account. */
  readonly paid_usd?: string | undefined;
  /** Name of the provider of the last attempt; undefined if there was none. */
  readonly provider: string | undefined;
  /** All attempts, in order. Only the last can be billed. */
  readonly attempts: readonly AttemptRecord[];
  /** Own time of the stages' hooks, in the order in which they began; at most 64. */
  readonly stages: readonly StageRecord[];
  /** When it began, and how long its parts took. */
  readonly timings: Timings;
}

/** The own time of one hook of one stage in an exchange. Milliseconds, rounded to a hundredth. */
export interface StageRecord {
  /** The stage's name. */
  readonly stage: string;
  /** The hook that ran; `onSettled` runs after the record is made. */
  readonly hook: 'onHeaders' | 'onRequest' | 'onReply' | 'onStream' | 'onError';
  /** From the start of the exchange until the hook first ran. */
  readonly offset_ms: number;
  /** Time in the hook, of all its runs. Of `onStream`: in the stage's transformer, for all chunks. */
  readonly own_ms: number;
}

/** Durations in milliseconds. */
export interface Timings {
  /** Start, in milliseconds since 1970. */
  readonly started_epoch_ms: number;
  /** From the start to settlement. */
  readonly duration_ms: number;
  /** From the start to the first text or tool call of a stream. */
  readonly first_token_ms: number | undefined;
  /** Time spent waiting for upstreams, over all attempts: until the first event or whole reply of the one that answered. */
  readonly upstream_wait_ms: number;
}

/** Typed key of a value that one plugin leaves for another. Only code that imports the key finds the value. */
export interface Key<T> {
  /** For messages and debuggers. */
  readonly description: string;
  /** Carries the type only. */
  readonly _value?: T;
}

/** Creates a key; each call makes another one, whatever the description. */
export function defineKey<T>(description: string): Key<T> {
  return { description };
}

/** An exchange as stages see it: facts to read first, then what a stage may change. */
export interface ExchangeView {
  /** The request id: `x-request-id` of the reply, and in every line of the log. */
  readonly id: string;
  /** The endpoint that was asked. */
  readonly endpoint: Endpoint;
  /** HTTP method, in capitals. */
  readonly method: string;
  /** Path without the query. */
  readonly path: string;
  /** The client's headers, names in lower case. */
  readonly headers: Readonly<IncomingHttpHeaders>;
  /**
   * The application's own request object, to read what its middleware has put there, as in `(exchange.incoming as express.Request).user`.
   * Stages must not read the body from it. A request of the dashboard's playground has not passed the application's middleware.
   */
  readonly incoming: IncomingMessage;
  /** Time of day and of durations. In a test, the option `clock` of `createChain` or `createGateway` replaces it. */
  readonly clock: Clock;
  /** The span of the exchange, for attributes and events; it ends after `onSettled`. */
  readonly span: Span;
  /** Log with this exchange's request id on every line, but without the stage's name: put it into the message. */
  readonly log: Log;
  /** Whether lines of `level` are written; does not create this exchange's log. */
  isLogged(level: 'info' | 'debug'): boolean;
  /** Start on `clock.elapsed_ms`. */
  readonly started_ms: number;
  /** Milliseconds since the start. */
  readonly elapsed_ms: number;
  /** Aborts when the upstream is no longer needed: the client has left, a hook took too long, or the gateway shuts down. */
  readonly signal: AbortSignal;
  /** Whether `signal` has aborted. */
  readonly aborted: boolean;
  /** The account that sent the request; undefined until `authenticate`. */
  readonly account: Account | undefined;
  /** The model; undefined until the body has been read, and if it names no model of the catalog. */
  readonly model: Model | undefined;
  /** Whether `request` can be read. */
  readonly hasRequest: boolean;
  /** Tokens used so far. */
  readonly usage: Readonly<RunningUsage>;
  /** Provider of the last attempt. */
  readonly provider: string | undefined;
  /** Attempts so far, in order. */
  readonly attempts: readonly AttemptRecord[];
  /** End reason, once known; undefined while nothing has gone wrong. */
  readonly end_reason: EndReason | undefined;

  /**
   * The canonical request, to read and change from `onRequest` on; reading it earlier throws. A stage that sets `request.model` chooses
   * another model: from the next stage on, `model`, limits, price, upstreams and the name in the reply are those of the new one.
   */
  request: ChatRequest;
  /** The model's name in the reply; undefined: `request.model`. */
  reply_model: string | undefined;
  /** Headers of the reply, also of an error. */
  readonly replyHeaders: Record<string, string>;
  /** Sets the account: limits, ledger and metrics count for it from now on. */
  authenticate(account: Account): void;
  /** Value that a plugin has set for `key`. */
  get<T>(key: Key<T>): T | undefined;
  /** Leaves a value for other plugins that import `key`. */
  set<T>(key: Key<T>, value: T): void;
}
