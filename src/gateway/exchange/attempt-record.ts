import type { Clock } from '../../common/clock.ts';
import type { Model } from '../catalog/catalog.ts';
import type { Usage } from './canonical.ts';

/** One attempt to get the reply: a call of a provider, or of the application's handler behind `createChain`. Times in milliseconds. */
export interface AttemptRecord {
  /** The provider's name in the configuration; undefined for a handler. */
  readonly provider: string | undefined;
  /** The model's name as it was sent to the provider; undefined for a handler, and for paths that are passed through. */
  readonly model: string | undefined;
  /** From the start of the exchange until the request was sent. */
  readonly offset_ms: number;
  /** Part of that: the wait for this provider's permit, or before a retry. */
  readonly wait_ms: number;
  /** The HTTP status of the reply; undefined if none came. */
  readonly status: number | undefined;
  /** From the request until the first text or tool call of a stream; undefined if none came, and for whole replies. */
  readonly first_token_ms: number | undefined;
  /** From the request until the end; undefined while the attempt runs. */
  readonly duration_ms: number | undefined;
  /** How it ended; undefined while it runs. `aborted`: by the gateway, such as when the client left. */
  readonly outcome: 'completed' | 'failed' | 'aborted' | undefined;
  /** Kind of failure, as in the metric `sluice_upstream_errors_total`; undefined unless it failed. */
  readonly kind: string | undefined;
  /** What the provider, or the connection to it, said of the failure: for operators, without addresses, keys and prompts, at most 500 characters. */
  readonly error_message: string | undefined;
}

/** What is known of an attempt when it begins. */
export type AttemptStart = Partial<Pick<RunningAttempt, 'provider' | 'model' | 'wait_ms' | 'paid_prices'>>;

/** The record of an attempt, kept while it runs. */
export class RunningAttempt implements AttemptRecord {
  readonly provider: string | undefined;
  readonly model: string | undefined;
  readonly offset_ms: number;
  readonly wait_ms: number;
  status: number | undefined;
  first_token_ms: number | undefined;
  duration_ms: number | undefined;
  outcome: AttemptRecord['outcome'];
  kind: string | undefined;
  error_message: string | undefined;
  /** What its provider is paid; undefined if that is unknown. */
  readonly paid_prices: Model['pricing'] | undefined;
  /** What an attempt that another followed has used, as far as its provider said so. */
  used: Usage | undefined;
  readonly #clock: Clock;
  readonly #sent_ms: number;

  /** `started_ms` is the start of its exchange, on `clock.elapsed_ms`. */
  constructor(clock: Clock, started_ms: number, start: AttemptStart = {}) {
    this.#clock = clock;
    this.#sent_ms = clock.elapsed_ms();
    const { provider, model, wait_ms = 0, paid_prices } = start;
    this.provider = provider;
    this.model = model;
    this.offset_ms = this.#sent_ms - started_ms;
    this.wait_ms = wait_ms;
    this.paid_prices = paid_prices;
  }

  /** Milliseconds since the request was sent. */
  get elapsed_ms(): number {
    return this.#clock.elapsed_ms() - this.#sent_ms;
  }

  /** `error.type` of its span and its metrics: the kind of failure, or `aborted`; undefined if it was completed or still runs. */
  get error_type(): string | undefined {
    return this.outcome === 'aborted' ? 'aborted' : this.kind;
  }

  /** Notes the first text or tool call of a stream. */
  firstToken(): void {
    this.first_token_ms ??= this.elapsed_ms;
  }

  /** Notes the end, the first time it is called; a failure has a `kind`, and perhaps the provider's message. */
  ended(outcome: NonNullable<AttemptRecord['outcome']>, kind?: string, error_message?: string): void {
    if (this.outcome) return;
    this.outcome = outcome;
    this.kind = kind;
    this.error_message = error_message;
    this.duration_ms = this.elapsed_ms;
  }
}
