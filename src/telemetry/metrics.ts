import type { Registry } from 'prom-client';
import { version } from '../common/version.ts';
import { AccountMetrics } from './account-metrics.ts';
import { BodyMetrics } from './body-metrics.ts';
import { ClientMetrics, operationBuckets_s, perTokenBuckets_s } from './client-metrics.ts';
import { type Measured, type MeasuredEnd, type MeasuredUsage, other_model } from './measured.ts';
import { registerMemoryLimits } from './memory-limits.ts';
import { MetricSet } from './metric-factory.ts';
import type { CounterSeries, GaugeSeries, HistogramSeries } from './metric-series.ts';
import { RoutingMetrics } from './routing-metrics.ts';
import type { UsedLabel } from './used-labels.ts';

const firstTokenBuckets_s = [
  0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 30, 60, 120, 300, 600,
];
const ownTimeBuckets_s = [
  1e-6, 5e-6, 1e-5, 5e-5, 1e-4, 5e-4, 1e-3, 5e-3, 0.01, 0.025, 0.05, 0.1, 0.15, 0.25, 0.5, 1, 2.5, 5, 10,
];

/** `gen_ai_provider_name` is the kind of the provider that was asked last; empty if none was. */
const serverLabels = ['gen_ai_operation_name', 'gen_ai_provider_name', 'gen_ai_request_model'] as const;

/** Common ends of exchanges by status, end reason and error type: one success, and the failures that alerts count. */
const preparedEnds = [
  [200, 'completed', ''],
  [502, 'upstream_failed', 'provider_error'],
  [200, 'upstream_failed', 'provider_error'], // a stream that broke
  [502, 'refused', 'provider_error'], // no upstream was usable
  [502, 'internal_error', 'server_error'],
  [502, 'refused', 'server_error'], // overload
  [524, 'time_limit', 'timeout_error'],
  [400, 'upstream_failed', 'configuration_error'],
  [200, 'internal_error', 'server_error'],
  [400, 'refused', 'configuration_error'], // an account's plan is not configured
] as const;

/** Names of fields at fault that are told apart. */
const max_fields = 300;

/** Series created before their first exchange: 1000 are about 200 kB at each scrape. */
const max_prepared_series = 2000;

/** The first part of a field's name; `other` for what no format calls a field. */
const fieldOf = (param: string): string => /^[a-z][\w-]{0,63}(?=[.[]|$)/i.exec(param)?.[0] ?? 'other';

/** Hooks whose own time is measured. */
export const timedHooks = ['onHeaders', 'onRequest', 'onReply', 'onStream', 'onError', 'onSettled'] as const;
export type TimedHook = (typeof timedHooks)[number];

/** The series of all exchanges of an endpoint. */
interface EndpointSeries {
  readonly inFlight: GaugeSeries;
  overhead?: HistogramSeries;
}

/** How exchanges ended, and the series that count them. */
interface ExchangeEnd {
  readonly status: number;
  readonly end_reason: string;
  readonly error_type: string;
  readonly requests: CounterSeries;
  duration?: HistogramSeries;
}

type TokenKind = 'input' | 'cached' | 'cache_creation' | 'output' | 'reasoning';
type TokenSeries = Partial<Record<TokenKind, CounterSeries>>;

/** The series of exchanges with endpoint, operation, provider and model in common, each looked up when it first counts. */
interface ServerSeries {
  readonly endpoint: string;
  readonly operation: string | undefined;
  readonly provider: string | undefined;
  /** Values of `serverLabels`. */
  readonly labels: readonly [operation: string, kind: string, model: string];
  readonly exact: TokenSeries;
  readonly estimated: TokenSeries;
  /** Of the last exchange: most end as the one before. */
  last?: ExchangeEnd;
  firstToken?: HistogramSeries;
  perToken?: HistogramSeries;
  cost?: CounterSeries;
}

/**
 * Metrics of the gateway, on a registry that the caller owns and that several gateways and chains of one process may share. Labels come
 * from closed sets only: endpoints, catalog models (anything else `_other`), configured providers, stages, error types.
 */
export class Metrics extends MetricSet {
  readonly #requests = this.metrics.counter({
    name: 'sluice_requests_total',
    help: 'Settled exchanges.',
    labels: ['endpoint', 'gen_ai_request_model', 'status', 'end_reason', 'error_type'],
  });
  readonly #duration = this.metrics.histogram({
    name: 'gen_ai_server_request_duration_seconds',
    help: 'Duration of an exchange, from the first header to settlement.',
    labels: [...serverLabels, 'error_type'],
    buckets: operationBuckets_s,
  });
  readonly #firstToken = this.metrics.histogram({
    name: 'gen_ai_server_time_to_first_token_seconds',
    help: 'Time from the first header to the first text or tool call of a stream.',
    labels: serverLabels,
    buckets: firstTokenBuckets_s,
  });
  readonly #perToken = this.metrics.histogram({
    name: 'gen_ai_server_time_per_output_token_seconds',
    help: 'Time of a stream after its first token, divided by the tokens that followed.',
    labels: serverLabels,
    buckets: perTokenBuckets_s,
  });
  readonly #inFlight = this.metrics.gauge({
    name: 'sluice_in_flight',
    help: 'Exchanges that have begun and are not settled.',
    labels: ['endpoint'],
  });
  readonly #overhead = this.metrics.histogram({
    name: 'sluice_overhead_seconds',
    help: "The gateway's own time until the reply began: body read to first byte written, less the wait for the upstream.",
    labels: ['endpoint'],
    buckets: ownTimeBuckets_s,
  });
  readonly #tokens = this.metrics.counter({
    name: 'sluice_tokens_total',
    help: 'Billable tokens.',
    labels: ['gen_ai_request_model', 'kind', 'source'],
  });
  readonly #cost = this.metrics.counter({
    name: 'sluice_cost_usd_total',
    help: "Cost of billable tokens at the catalog's prices.",
    labels: ['gen_ai_request_model'],
  });
  readonly #backgroundReads = this.metrics.gauge({
    name: 'sluice_background_reads',
    help: 'Replies read to their end for billing alone, after a 524 or a client that left.',
  });
  readonly #stageTime = this.metrics.histogram({
    name: 'sluice_stage_duration_seconds',
    help: "A stage's own time in one exchange, errors included, without the wait for the upstream.",
    labels: ['stage', 'hook'],
    buckets: ownTimeBuckets_s,
  });
  readonly #stageRefusals = this.metrics.counter({
    name: 'sluice_stage_refusals_total',
    help: 'Errors thrown by a stage, refusals and faults; also what its promise rejects with after the exchange.',
    labels: ['stage', 'hook', 'error_type'],
  });
  readonly #fieldsAtFault = this.metrics.counter({
    name: 'sluice_invalid_fields_total',
    help: 'Requests refused for a field of theirs, by the first part of its name.',
    labels: ['endpoint', 'field'],
    // Names of the formats; those that stages refuse are their own.
    max_series: max_fields,
  });
  readonly #estimateError = this.metrics.histogram({
    name: 'sluice_usage_estimate_error_ratio',
    help: "Estimated completion tokens divided by the upstream's final figure.",
    labels: ['gen_ai_request_model'],
    buckets: [0.5, 0.7, 0.8, 0.85, 0.9, 0.95, 1, 1.05, 1.1, 1.15, 1.2, 1.3, 1.5, 2],
  });
  readonly #reloads = this.metrics.counter({
    name: 'sluice_config_reloads_total',
    help: 'Reloads of the configuration: those that were accepted, and those that were refused.',
    labels: ['result'],
    initial: [['success'], ['failure']],
  });
  readonly #lastReload = this.setting({
    name: 'sluice_config_last_reload_successful',
    help: '0 if the last reload of the configuration was refused; the one before it serves on then.',
    aggregator: 'min',
  });
  readonly #configLoaded = this.setting({
    name: 'sluice_config_loaded_timestamp_seconds',
    help: 'Unix time at which the running configuration was accepted.',
    aggregator: 'min',
  });
  readonly registry: Registry;
  readonly routing: RoutingMetrics;
  /** Metrics of attempts at providers. */
  readonly client: ClientMetrics;
  /** Metrics of request bodies in memory. */
  readonly bodies: BodyMetrics;
  #accounts: AccountMetrics | undefined;
  readonly #byEndpoint = new Map<string, EndpointSeries>();
  readonly #byModel = new Map<string, ServerSeries[]>();

  constructor(registry: Registry) {
    super(registry);
    this.registry = registry;
    this.routing = new RoutingMetrics(registry);
    this.client = new ClientMetrics(registry);
    const build = {
      name: 'sluice_build_info',
      help: '1; the version that runs.',
      aggregator: 'max',
      labels: ['version'],
    } as const;
    this.metrics.gauge(build).labels(version).set(1);
    this.bodies = new BodyMetrics(registry);
    registerMemoryLimits(registry);
  }

  /** Shows that a gateway or chain was assembled from its configuration at this time. */
  configLoaded(epoch_ms: number): void {
    this.#configLoaded(epoch_ms / 1000);
    this.#lastReload(1);
    this.#unbind();
  }

  /** Forgets values of labels that no configuration uses any more, whose series are removed. */
  forget(gone: readonly UsedLabel[]): void {
    for (const [label, value] of gone) if (label === 'sluice_provider') this.client.forget(value);
    this.#unbind();
  }

  /** Looks series up again, some of which may be gone. */
  #unbind(): void {
    this.#byModel.clear();
    this.client.unbind();
  }

  /** Counts a reload that was accepted, or refused. */
  reloaded(result: 'success' | 'failure'): void {
    this.#reloads.labels(result).inc();
    this.#lastReload(result === 'success' ? 1 : 0);
  }

  /** Starts counting by account as well. */
  countAccounts(): void {
    this.#accounts ??= new AccountMetrics(this.registry);
  }

  begun({ endpoint }: Measured): void {
    this.#endpointSeries(endpoint.name).inFlight.inc();
  }

  settled(exchange: Measured, end: MeasuredEnd): void {
    const { endpoint, trace_id } = exchange;
    const { end_reason, timings, usage, provider } = end;
    const { duration_ms, first_token_ms } = timings;
    this.#endpointSeries(endpoint.name).inFlight.dec();
    const series = this.#seriesOf(exchange, provider);
    const last = this.#endOf(series, end);
    last.requests.inc();
    if (end.error_param !== undefined && end_reason === 'refused')
      this.#fieldsAtFault.labels(endpoint.name, fieldOf(end.error_param)).inc();
    if (endpoint.public) return;
    last.duration ??= this.#duration.labels(...series.labels, last.error_type);
    last.duration.observe(duration_ms / 1000, trace_id);
    if (first_token_ms !== undefined) {
      series.firstToken ??= this.#firstToken.labels(...series.labels);
      series.firstToken.observe(first_token_ms / 1000, trace_id);
      const tokens = usage.completion_tokens - 1;
      if (tokens > 0) {
        series.perToken ??= this.#perToken.labels(...series.labels);
        series.perToken.observe((duration_ms - first_token_ms) / 1000 / tokens);
      }
    }
    this.#countTokens(series, usage);
    // A counter of money may round; the exact figure is in the record.
    series.cost ??= this.#cost.labels(series.labels[2]);
    series.cost.inc(Number(end.cost_usd));
    if (provider !== undefined && usage.prompt_tokens > 0)
      this.client.used(exchange, provider, usage.prompt_tokens, usage.completion_tokens);
    this.#accounts?.settled(end);
  }

  #endpointSeries(endpoint: string): EndpointSeries {
    let series = this.#byEndpoint.get(endpoint);
    if (!series) this.#byEndpoint.set(endpoint, (series = { inFlight: this.#inFlight.labels(endpoint) }));
    return series;
  }

  #seriesOf({ endpoint, operation, model }: Measured, provider: string | undefined): ServerSeries {
    const name = model?.id ?? other_model;
    let ofModel = this.#byModel.get(name);
    if (!ofModel) this.#byModel.set(name, (ofModel = []));
    for (const known of ofModel)
      if (known.endpoint === endpoint.name && known.provider === provider && known.operation === operation)
        return known;
    const labels = [operation ?? '', this.client.kindOf(provider), name] as const;
    const series = { endpoint: endpoint.name, operation, provider, labels, exact: {}, estimated: {} };
    ofModel.push(series);
    return series;
  }

  #endOf(series: ServerSeries, { status, end_reason, error_type = '' }: MeasuredEnd): ExchangeEnd {
    const { last, endpoint, labels } = series;
    if (last?.status === status && last.end_reason === end_reason && last.error_type === error_type)
      return last;
    const requests = this.#requests.labels(endpoint, labels[2], status, end_reason, error_type);
    return (series.last = { status, end_reason, error_type, requests });
  }

  #countTokens(series: ServerSeries, usage: MeasuredUsage): void {
    const { cache_creation_tokens = 0, completion_details } = usage;
    this.#count(series, usage, 'input', usage.prompt_tokens);
    if (usage.cached_tokens > 0) this.#count(series, usage, 'cached', usage.cached_tokens);
    if (cache_creation_tokens > 0) this.#count(series, usage, 'cache_creation', cache_creation_tokens);
    this.#count(series, usage, 'output', usage.completion_tokens);
    const reasoning_tokens = completion_details?.reasoning_tokens ?? 0;
    if (reasoning_tokens > 0) this.#count(series, usage, 'reasoning', reasoning_tokens);
  }

  #count(series: ServerSeries, { estimated }: MeasuredUsage, kind: TokenKind, tokens: number): void {
    if (tokens <= 0) return;
    const source = estimated ? 'estimated' : 'exact';
    const counters = series[source];
    counters[kind] ??= this.#tokens.labels(series.labels[2], kind, source);
    counters[kind].inc(tokens);
  }

  /** Counts a background read that begins (1) or ends (-1). */
  backgroundReads(change: 1 | -1): void {
    this.#backgroundReads.labels().inc(change);
  }

  overhead(exchange: Measured, own_ms: number): void {
    const series = this.#endpointSeries(exchange.endpoint.name);
    series.overhead ??= this.#overhead.labels(exchange.endpoint.name);
    series.overhead.observe(own_ms / 1000);
  }

  /** The series of a stage's own time, in seconds, for the chain to hold. */
  stageTime(stage: string, hook: TimedHook): HistogramSeries {
    return this.#stageTime.labels(stage, hook);
  }

  stageRefused(stage: string, hook: string, error_type: string): void {
    this.#stageRefusals.labels(stage, hook, error_type).inc();
  }

  /**
   * Creates the series of the common ends of requests at 0: Prometheus sees no increase in a series that begins at 1, so the first failures
   * would not count. Of a large catalog the more common ends come first, up to 2000 series.
   */
  prepareRequests(endpoints: readonly string[], models: readonly string[]): void {
    let left = max_prepared_series;
    for (const end of preparedEnds)
      for (const model of [...models, other_model])
        for (const endpoint of endpoints) if (left-- > 0) this.#requests.labels(endpoint, model, ...end);
    for (const model of models) this.routing.prepareModel(model);
  }

  /** Creates the series of a stage's hooks, so that the first run and the first failure are seen as an increase. */
  prepareStage(stage: string, hooks: readonly TimedHook[]): void {
    for (const hook of hooks) {
      this.#stageTime.labels(stage, hook);
      this.#stageRefusals.labels(stage, hook, 'server_error');
    }
  }

  estimateChecked(exchange: Measured, ratio: number): void {
    this.#estimateError.labels(exchange.model?.id ?? other_model).observe(ratio);
  }
}
