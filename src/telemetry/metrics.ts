import { Gauge, type Registry } from 'prom-client';
import { RoutingMetrics } from './routing-metrics.ts';
import { type HistogramSeries, SeriesCounter, SeriesHistogram } from './series.ts';

const durationBuckets_s = [
  0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92,
];
const longDurationBuckets_s = [...durationBuckets_s, 163.84, 327.68];
const firstTokenBuckets_s = [
  0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 30, 60, 120,
];
const shareBuckets = [0, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 1];
const ownTimeBuckets_s = [1e-6, 5e-6, 1e-5, 5e-5, 1e-4, 5e-4, 1e-3, 5e-3, 0.01, 0.05, 0.1, 1];

/** What the metrics need to know of an exchange. */
export interface Measured {
  readonly endpoint: { readonly name: string; readonly public: boolean };
  readonly model: { readonly id: string } | undefined;
  /** Of the trace that is recorded, if one is. */
  readonly trace_id?: string | undefined;
}

/** What they need to know of its end. */
export interface MeasuredEnd {
  readonly end_reason: string;
  readonly status: number;
  readonly error_type: string | undefined;
  readonly usage: {
    readonly prompt_tokens: number;
    readonly completion_tokens: number;
    readonly cached_tokens: number;
    readonly completion_details: { readonly reasoning_tokens?: number } | undefined;
    readonly estimated: boolean;
  };
  readonly cost_usd: string;
  readonly timings: { readonly duration_ms: number; readonly first_token_ms: number | undefined };
}

/** Hooks whose own time is measured. */
export const timedHooks = ['onHeaders', 'onRequest', 'onReply', 'onStream'] as const;
export type TimedHook = (typeof timedHooks)[number];

/** What a limit said to a request: admitted, refused, or admitted although it is over, by a dry run. */
export type LimitDecision = 'admitted' | 'refused' | 'over';

/** Where decisions about limits are counted. */
export interface LimitMetrics {
  /** `headroom` is what remains after it, as a share of the limit, from 0 to 1. */
  limitDecided(limit: string, decision: LimitDecision, headroom: number): void;
}

interface LimitSeries extends Readonly<Record<LimitDecision, { value: number }>> {
  readonly headroom: HistogramSeries;
}

/**
 * What the gateway counts, on a registry that the caller owns. Labels come from closed sets only: endpoints, catalog models
 * (anything else `_other`), configured providers, stages, error types.
 */
export class Metrics implements LimitMetrics {
  static readonly #onRegistry = new WeakMap<Registry, Metrics>();

  /** The metrics on `registry`, which several gateways and chains of one process may share. */
  static on(registry: Registry): Metrics {
    let metrics = Metrics.#onRegistry.get(registry);
    if (!metrics) Metrics.#onRegistry.set(registry, (metrics = new Metrics(registry)));
    return metrics;
  }

  readonly registry: Registry;
  readonly routing: RoutingMetrics;
  readonly #requests;
  readonly #duration;
  readonly #firstToken;
  readonly #inFlight;
  readonly #overhead;
  readonly #tokens;
  readonly #cost;
  readonly #background;
  readonly #stageTime;
  readonly #stageRefusals;
  readonly #upstreamDuration;
  readonly #upstreamErrors;
  readonly #estimateError;
  readonly #limitDecisions;
  readonly #limitHeadroom;
  readonly #limits = new Map<string, LimitSeries>();

  constructor(registry: Registry) {
    this.registry = registry;
    this.routing = new RoutingMetrics(registry);
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
      longDurationBuckets_s,
    );
    this.#firstToken = histogram(
      'gen_ai_server_time_to_first_token_seconds',
      'From the first header to the first text or tool call of a stream.',
      ['gen_ai_request_model'],
      firstTokenBuckets_s,
    );
    this.#inFlight = new Gauge({
      name: 'sluice_in_flight',
      help: 'Exchanges that have begun and are not settled.',
      labelNames: ['endpoint'],
      registers,
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
    this.#upstreamDuration = histogram(
      'gen_ai_client_operation_duration_seconds',
      'One attempt at one provider, from sending to the last byte.',
      ['gen_ai_provider_name', 'gen_ai_request_model', 'error_type'],
      longDurationBuckets_s,
    );
    this.#upstreamErrors = counter('sluice_upstream_errors_total', 'Attempts that failed, by kind.', [
      'gen_ai_provider_name',
      'kind',
    ]);
    this.#estimateError = histogram(
      'sluice_usage_estimate_error_ratio',
      "Estimated completion tokens divided by the upstream's final figure.",
      ['gen_ai_request_model'],
      [0.5, 0.7, 0.8, 0.85, 0.9, 0.95, 1, 1.05, 1.1, 1.15, 1.2, 1.3, 1.5, 2],
    );
    this.#limitDecisions = counter('sluice_limit_decisions_total', 'What the limits of accounts decided.', [
      'limit',
      'decision',
    ]);
    this.#limitHeadroom = histogram(
      'sluice_limit_headroom_ratio',
      'What remained of a limit after a decision, as a share of the whole.',
      ['limit'],
      shareBuckets,
    );
  }

  begun(exchange: Measured): void {
    this.#inFlight.inc({ endpoint: exchange.endpoint.name });
  }

  settled(
    exchange: Measured,
    { status, end_reason, error_type = '', timings, usage, cost_usd }: MeasuredEnd,
  ): void {
    const endpoint = exchange.endpoint.name;
    const model = modelLabel(exchange);
    this.#inFlight.dec({ endpoint });
    this.#requests.add(1, endpoint, model, status, end_reason, error_type);
    if (exchange.endpoint.public) return;
    this.#duration.series(model, error_type).observe(timings.duration_ms / 1000, exchange.trace_id);
    const { first_token_ms } = timings;
    if (first_token_ms !== undefined)
      this.#firstToken.series(model).observe(first_token_ms / 1000, exchange.trace_id);
    this.#countTokens(model, usage);
    // A counter of money may round; the exact figure is in the record.
    this.#cost.add(Number(cost_usd), model);
  }

  #countTokens(model: string, usage: MeasuredEnd['usage']): void {
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

  /** An attempt has ended; `kind` says what went wrong, if anything did. */
  attempted(exchange: Measured, provider: string, duration_ms: number, kind: string | undefined): void {
    this.#upstreamDuration.series(provider, modelLabel(exchange), kind ?? '').observe(duration_ms / 1000);
    if (kind !== undefined) this.#upstreamErrors.add(1, provider, kind);
  }

  limitDecided(limit: string, decision: LimitDecision, headroom: number): void {
    const series = this.#limits.get(limit) ?? this.#seriesOf(limit);
    series[decision].value++;
    series.headroom.observe(headroom);
  }

  #seriesOf(limit: string): LimitSeries {
    const decided = (decision: LimitDecision) => this.#limitDecisions.series(limit, decision);
    const series = {
      admitted: decided('admitted'),
      refused: decided('refused'),
      over: decided('over'),
      headroom: this.#limitHeadroom.series(limit),
    };
    this.#limits.set(limit, series);
    return series;
  }

  estimateChecked(exchange: Measured, ratio: number): void {
    this.#estimateError.series(modelLabel(exchange)).observe(ratio);
  }
}

/** Only names of the catalog become labels: a client must not be able to make series (protocol l). */
function modelLabel(exchange: Measured): string {
  return exchange.model?.id ?? '_other';
}
