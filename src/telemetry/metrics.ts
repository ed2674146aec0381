import { Gauge, type Registry } from 'prom-client';
import { AccountMetrics } from './account-metrics.ts';
import { BodyMetrics } from './body-metrics.ts';
import { ClientMetrics, operationBuckets_s } from './client-metrics.ts';
import { LimitCounts } from './limit-metrics.ts';
import { type Measured, type MeasuredEnd, type MeasuredUsage, modelLabel } from './measured.ts';
import { RoutingMetrics } from './routing-metrics.ts';
import { type HistogramSeries, SeriesCounter, SeriesHistogram } from './series.ts';

const firstTokenBuckets_s = [
  0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 30, 60, 120,
];
const perTokenBuckets_s = [0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5];
const ownTimeBuckets_s = [1e-6, 5e-6, 1e-5, 5e-5, 1e-4, 5e-4, 1e-3, 5e-3, 0.01, 0.05, 0.1, 1];

/** Hooks whose own time is measured. */
export const timedHooks = ['onHeaders', 'onRequest', 'onReply', 'onStream'] as const;
export type TimedHook = (typeof timedHooks)[number];

/**
 * What the gateway counts, on a registry that the caller owns. Labels come from closed sets only: endpoints, catalog models
 * (anything else `_other`), configured providers, stages, error types.
 */
export class Metrics {
  static readonly #onRegistry = new WeakMap<Registry, Metrics>();

  /** The metrics on `registry`, which several gateways and chains of one process may share. */
  static on(registry: Registry): Metrics {
    let metrics = Metrics.#onRegistry.get(registry);
    if (!metrics) Metrics.#onRegistry.set(registry, (metrics = new Metrics(registry)));
    return metrics;
  }

  readonly registry: Registry;
  readonly routing: RoutingMetrics;
  /** Of attempts at providers. */
  readonly client: ClientMetrics;
  /** Of the limits of accounts. */
  readonly limits: LimitCounts;
  /** Of request bodies in memory. */
  readonly bodies: BodyMetrics;
  #accounts: AccountMetrics | undefined;
  readonly #requests;
  readonly #duration;
  readonly #firstToken;
  readonly #perToken;
  /** By endpoint; the gauge looks here when it is scraped. */
  readonly #inFlight = new Map<string, number>();
  readonly #overhead;
  readonly #tokens;
  readonly #cost;
  readonly #background;
  readonly #stageTime;
  readonly #stageRefusals;
  readonly #estimateError;

  constructor(registry: Registry) {
    this.registry = registry;
    this.routing = new RoutingMetrics(registry);
    this.client = new ClientMetrics(registry);
    this.limits = new LimitCounts(registry);
    this.bodies = new BodyMetrics(registry);
    const registers = [registry];
    const histogram = <L extends string>(
      name: string,
      help: string,
      labelNames: readonly L[],
      bounds: readonly number[],
    ) => new SeriesHistogram({ name, help, labelNames, registers }, bounds);
    const counter = <L extends string>(name: string, help: string, labelNames: readonly L[]) =>
      new SeriesCounter({ name, help, labelNames, registers });

    this.#requests = counter('sluice_requests_total', 'Exchanges that have ended.', [
      'endpoint',
      'gen_ai_request_model',
      'status',
      'end_reason',
      'error_type',
    ]);
    this.#duration = histogram(
      'gen_ai_server_request_duration_seconds',
      'From the first header to settlement.',
      ['gen_ai_request_model', 'error_type'],
      operationBuckets_s,
    );
    this.#firstToken = histogram(
      'gen_ai_server_time_to_first_token_seconds',
      'From the first header to the first text or tool call of a stream.',
      ['gen_ai_request_model'],
      firstTokenBuckets_s,
    );
    this.#perToken = histogram(
      'gen_ai_server_time_per_output_token_seconds',
      'Of a stream after its first token: its time divided by the tokens that followed.',
      ['gen_ai_request_model'],
      perTokenBuckets_s,
    );
    const inFlight = this.#inFlight;
    new Gauge({
      name: 'sluice_in_flight',
      help: 'Exchanges that have begun and are not settled.',
      labelNames: ['endpoint'],
      registers,
      collect() {
        for (const [endpoint, exchanges] of inFlight) this.set({ endpoint }, exchanges);
      },
    });
    this.#overhead = histogram(
      'sluice_overhead_seconds',
      "The gateway's own time until the reply began: body read to first byte written, less the wait for the upstream.",
      ['endpoint'],
      ownTimeBuckets_s,
    );
    this.#tokens = counter('sluice_tokens_total', 'Billable tokens.', [
      'gen_ai_request_model',
      'kind',
      'source',
    ]);
    this.#cost = counter('sluice_cost_usd_total', "Cost of billable tokens at the catalog's prices.", [
      'gen_ai_request_model',
    ]);
    this.#background = new Gauge({
      name: 'sluice_background_reads',
      help: 'Replies that are read to their end for the bill alone, after a 524 or a client that left.',
      registers,
    });
    this.#stageTime = histogram(
      'sluice_stage_duration_seconds',
      "A stage's own time in one exchange, without the wait for the upstream.",
      ['stage', 'hook'],
      ownTimeBuckets_s,
    );
    this.#stageRefusals = counter('sluice_stage_refusals_total', 'Errors thrown by a stage.', [
      'stage',
      'hook',
      'error_type',
    ]);
    this.#estimateError = histogram(
      'sluice_usage_estimate_error_ratio',
      "Estimated completion tokens divided by the upstream's final figure.",
      ['gen_ai_request_model'],
      [0.5, 0.7, 0.8, 0.85, 0.9, 0.95, 1, 1.05, 1.1, 1.15, 1.2, 1.3, 1.5, 2],
    );
  }

  /** Counts by account as well, from now on. */
  countAccounts(): void {
    this.#accounts ??= new AccountMetrics(this.registry);
  }

  begun(exchange: Measured): void {
    this.#addInFlight(exchange, 1);
  }

  #addInFlight({ endpoint: { name } }: Measured, change: number): void {
    this.#inFlight.set(name, (this.#inFlight.get(name) ?? 0) + change);
  }

  settled(exchange: Measured, end: MeasuredEnd): void {
    const { status, end_reason, error_type = '', timings, usage, cost_usd } = end;
    const model = modelLabel(exchange);
    this.#addInFlight(exchange, -1);
    this.#requests.add(1, exchange.endpoint.name, model, status, end_reason, error_type);
    if (exchange.endpoint.public) return;
    this.#duration.series(model, error_type).observe(timings.duration_ms / 1000, exchange.trace_id);
    const { first_token_ms } = timings;
    if (first_token_ms !== undefined) {
      this.#firstToken.series(model).observe(first_token_ms / 1000, exchange.trace_id);
      const tokens = usage.completion_tokens - 1;
      if (tokens > 0)
        this.#perToken.series(model).observe((timings.duration_ms - first_token_ms) / 1000 / tokens);
    }
    this.#countTokens(model, usage);
    // A counter of money may round; the exact figure is in the record.
    this.#cost.add(Number(cost_usd), model);
    if (end.provider !== undefined && usage.prompt_tokens > 0)
      this.client.used(exchange, end.provider, usage.prompt_tokens, usage.completion_tokens);
    this.#accounts?.settled(end);
  }

  #countTokens(model: string, usage: MeasuredUsage): void {
    const source = usage.estimated ? 'estimated' : 'exact';
    const count = (kind: string, tokens: number) => {
      if (tokens > 0) this.#tokens.add(tokens, model, kind, source);
    };
    count('input', usage.prompt_tokens);
    count('cached', usage.cached_tokens);
    count('output', usage.completion_tokens);
    count('reasoning', usage.completion_details?.reasoning_tokens ?? 0);
  }

  backgroundReads(running: number): void {
    this.#background.set(running);
  }

  overhead(exchange: Measured, own_ms: number): void {
    this.#overhead.series(exchange.endpoint.name).observe(own_ms / 1000);
  }

  /** Where a stage's own time is observed, in seconds; for the chain to hold on to. */
  stageTime(stage: string, hook: TimedHook): HistogramSeries {
    return this.#stageTime.series(stage, hook);
  }

  stageRefused(stage: string, hook: string, error_type: string): void {
    this.#stageRefusals.add(1, stage, hook, error_type);
  }

  /** Makes the series of a stage that breaks, so that the first time is seen as an increase. */
  prepareStage(stage: string, hooks: readonly string[]): void {
    for (const hook of hooks) this.#stageRefusals.series(stage, hook, 'server_error');
  }

  estimateChecked(exchange: Measured, ratio: number): void {
    this.#estimateError.series(modelLabel(exchange)).observe(ratio);
  }
}
