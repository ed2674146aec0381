import type { IncomingHttpHeaders } from 'node:http';
import type { Span } from '@opentelemetry/api';
import type { ChatRequest, Usage } from '../canonical.ts';
import type { Model } from '../catalog/catalog.ts';
import type { Clock } from '../clock.ts';
import type { DialectName } from '../dialects/built-in-dialects.ts';
import type { GatewayError } from '../errors.ts';
import type { Account } from '../stores/accounts/accounts.ts';
import type { Log } from '../telemetry/log.ts';
import type { EndReason } from './exchange-end.ts';

/** What a path offers. `name` is the metric label; a `public` endpoint needs no key (spec 5). */
export interface Endpoint {
  readonly name: DialectName | 'passthrough' | 'unknown';
  readonly public: boolean;
  /** Body of the errors sent there; OpenAI's envelope where it is absent. */
  errorBody?(error: GatewayError): string;
}

/** Tokens known or estimated so far; never decreasing while the exchange runs. */
export interface RunningUsage {
  prompt_tokens: number;
  completion_tokens: number;
  cached_tokens: number;
  /** The upstream's own breakdown, passed on as it is (protocol d10). */
  completion_details: Usage['completion_tokens_details'];
  /** False once the upstream's own figure covers everything that was generated. */
  estimated: boolean;
}

/** An attempt that came to nothing, or broke off. */
export interface FailedAttempt {
  readonly provider: string;
  /** What went wrong, in the words of the metric `sluice_upstream_errors_total`. */
  readonly kind: string;
}

/** The record of an exchange that has ended, one for each, whatever its end: for metrics, logs, the ledger and `onSettled`. */
export interface Outcome {
  readonly id: string;
  readonly endpoint: Endpoint['name'];
  readonly account: string | undefined;
  /** Catalog id; absent when the request named none. */
  readonly model: string | undefined;
  readonly end_reason: EndReason;
  /** The HTTP status sent, or 0 when the client left before one was. */
  readonly status: number;
  /** `error.type` of the envelope or error event, if one was sent. */
  readonly error_type: string | undefined;
  /** What is billed. All zero when the upstream gave nothing. */
  readonly usage: Readonly<RunningUsage>;
  /** Exact decimal string, from the catalog's prices. */
  readonly cost_usd: string;
  readonly provider: string | undefined;
  /** How many times an upstream was asked. */
  readonly attempts: number;
  /** Those of them that failed, in order. Nothing is billed of one that was followed by another. */
  readonly failed_attempts: readonly FailedAttempt[];
  readonly timings: Timings;
}

/** Milliseconds. */
export interface Timings {
  /** When it began, since 1970. */
  readonly started_epoch_ms: number;
  readonly duration_ms: number;
  /** From its beginning to the first text or tool call of a stream. */
  readonly first_token_ms: number | undefined;
  /** Spent waiting for upstreams: until the first event or whole reply of the one that answered, over all attempts. */
  readonly upstream_wait_ms: number;
}

/** A place for what one plugin leaves for another, found by importing the key and by nothing else. */
export interface Key<T> {
  readonly description: string;
  /** Carries the type, never a value. */
  readonly _value?: T;
}

export function defineKey<T>(description: string): Key<T> {
  return { description };
}

/** An exchange as stages see it: facts to read, and what a stage may change, which stands last. */
export interface ExchangeView {
  readonly id: string;
  readonly endpoint: Endpoint;
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  /** The client's headers, names in lower case. */
  readonly headers: Readonly<IncomingHttpHeaders>;
  readonly clock: Clock;
  /** The server span, for attributes and events. */
  readonly span: Span;
  /** With this exchange's id on every line. */
  readonly log: Log;
  /** Whether lines of `level` are written at all; asks without making this exchange's log. */
  isLogged(level: 'info' | 'debug'): boolean;
  /** On `clock.elapsed_ms`. */
  readonly started_ms: number;
  /** Since it began. */
  readonly elapsed_ms: number;
  /** Aborts when nothing more is wanted of the upstream: the client has left, or the gateway shuts down. */
  readonly signal: AbortSignal;
  readonly aborted: boolean;
  readonly account: Account | undefined;
  /** There once the body has been read and names a model of the catalog. */
  readonly model: Model | undefined;
  readonly hasRequest: boolean;
  /** Tokens so far. */
  readonly usage: Readonly<RunningUsage>;
  /** The provider asked last. */
  readonly provider: string | undefined;
  readonly attempts: number;
  readonly failed_attempts: readonly FailedAttempt[];
  /** What ends the exchange, once that is known; undefined while nothing has gone wrong. */
  readonly end_reason: EndReason | undefined;

  /** The canonical request, to be read and changed from `onRequest` on; asking earlier is a programming error. */
  request: ChatRequest;
  /** Headers of whatever reply is sent. */
  readonly replyHeaders: Record<string, string>;
  /** Says whose exchange it is: limits, ledger and metrics count for this account from now on. */
  authenticate(account: Account): void;
  /** What a plugin has left under `key`. */
  get<T>(key: Key<T>): T | undefined;
  set<T>(key: Key<T>, value: T): void;
}
