import type { EndReason, ErrorType } from '../common/end-class.ts';
import { type ClientMetrics, operationBuckets_s, perTokenBuckets_s } from './client-metrics.ts';
import { type Measured, type MeasuredEnd, type MeasuredUsage, other_model } from './measured.ts';
import { MetricSet } from './metric-factory.ts';
import type { CounterSeries, HistogramSeries } from './metric-series.ts';

const firstTokenBuckets_s = [
  0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 30, 60, 120, 300, 600,
];
export const ownTimeBuckets_s = [
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
] as const satisfies readonly (readonly [status: number, EndReason, ErrorType | ''])[];

/** Series created before their first exchange: 1000 are about 200 kB at each scrape. */
const max_prepared_series = 2000;

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

/** Metrics of exchanges, by what is known of them at their end. */
export abstract class ExchangeMetrics extends MetricSet {
  /** Metrics of attempts at providers. */
  abstract readonly client: ClientMetrics;
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
  readonly #byModel = new Map<string, ServerSeries[]>();

  /** Forgets the series that were looked up: some may have been removed. */
  protected unbind(): void {
    this.#byModel.clear();
    this.client.unbind();
  }

  begun({ endpoint }: Measured): void {
    this.#inFlight.labels(endpoint.name).inc();
  }

  /** Counts an exchange that has ended. */
  settled(exchange: Measured, end: MeasuredEnd): void {
    const { endpoint, trace_id } = exchange;
    const { timings, usage, provider } = end;
    const { duration_ms, first_token_ms } = timings;
    this.#inFlight.labels(endpoint.name).dec();
    const series = this.#seriesOf(exchange, provider);
    const last = this.#endOf(series, end);
    last.requests.inc();
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
    if (usage.prompt_tokens > 0) this.#count(series, usage, 'input', usage.prompt_tokens);
    if (usage.cached_tokens > 0) this.#count(series, usage, 'cached', usage.cached_tokens);
    if (cache_creation_tokens > 0) this.#count(series, usage, 'cache_creation', cache_creation_tokens);
    if (usage.completion_tokens > 0) this.#count(series, usage, 'output', usage.completion_tokens);
    const reasoning_tokens = completion_details?.reasoning_tokens ?? 0;
    if (reasoning_tokens > 0) this.#count(series, usage, 'reasoning', reasoning_tokens);
  }

  #count(series: ServerSeries, { estimated }: MeasuredUsage, kind: TokenKind, tokens: number): void {
    const source = estimated ? 'estimated' : 'exact';
    const counters = series[source];
    counters[kind] ??= this.#tokens.labels(series.labels[2], kind, source);
    counters[kind].inc(tokens);
  }

  /** Counts the own time of the gateway in an exchange. */
  overhead(exchange: Measured, own_ms: number): void {
    this.#overhead.labels(exchange.endpoint.name).observe(own_ms / 1000);
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
  }
}
