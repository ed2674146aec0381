import { type Measured, other_model } from './measured.ts';
import { MetricSet } from './metric-factory.ts';
import type { CounterSeries, HistogramSeries } from './metric-series.ts';

/** OpenTelemetry's buckets for the duration of an operation, and three more for answers that take minutes. */
export const operationBuckets_s = [
  0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92, 163.84, 327.68, 600,
];
/** Of the time for one token or chunk: fast engines make a thousand tokens a second. */
export const perTokenBuckets_s = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5, 10, 40,
];
const tokenBuckets = Array.from({ length: 14 }, (_, power) => 4 ** power);

/** The kind of provider, such as `vllm`; its configured name; the catalog's model. */
const labels = [
  'gen_ai_operation_name',
  'gen_ai_provider_name',
  'sluice_provider',
  'gen_ai_request_model',
] as const;

/** Statuses whose series exist from the start. */
const preparedStatuses = ['', '200', '400', '401', '403', '404', '429', '500', '502', '503', '504', '529'];

/** A provider may answer with any number. */
const statusLabel = (status: number | undefined): string =>
  status === undefined ? '' : status >= 100 && status <= 599 ? String(status) : 'other';

/** How attempts ended, and the series that count them. */
interface AttemptEnd {
  readonly kind: string | undefined;
  readonly status: number | undefined;
  readonly duration: HistogramSeries;
  readonly attempts: CounterSeries;
  readonly errors: CounterSeries | undefined;
}

/** The series of what has operation, provider and model in common, each looked up when it first counts. */
interface ClientSeries {
  readonly operation: string | undefined;
  readonly provider: string;
  /** Values of `labels`. */
  readonly labels: readonly [operation: string, kind: string, provider: string, model: string];
  /** Of the last attempt: most end as the one before. */
  last?: AttemptEnd;
  firstChunk?: HistogramSeries;
  perChunk?: HistogramSeries;
  input?: HistogramSeries;
  output?: HistogramSeries;
}

/** Metrics of the gateway as the client of its providers, under the names of the GenAI conventions. */
export class ClientMetrics extends MetricSet {
  readonly #duration = this.metrics.histogram({
    name: 'gen_ai_client_operation_duration_seconds',
    help: 'Duration of one attempt at one provider, from sending to the last byte.',
    labels: [...labels, 'error_type'],
    buckets: operationBuckets_s,
  });
  readonly #tokens = this.metrics.histogram({
    name: 'gen_ai_client_token_usage',
    help: 'Billable tokens of an exchange by the provider that answered it.',
    labels: [...labels, 'gen_ai_token_type'],
    buckets: tokenBuckets,
  });
  readonly #firstChunk = this.metrics.histogram({
    name: 'gen_ai_client_operation_time_to_first_chunk_seconds',
    help: 'Time from sending to the first chunk of a stream.',
    labels,
    buckets: operationBuckets_s,
  });
  readonly #perChunk = this.metrics.histogram({
    name: 'gen_ai_client_operation_time_per_output_chunk_seconds',
    help: 'Time between two chunks of a stream as they arrive; chunks that arrive together share their wait.',
    labels,
    buckets: perTokenBuckets_s,
  });
  readonly #attempts = this.metrics.counter({
    name: 'sluice_upstream_attempts_total',
    help: "Attempts that have ended, failed or not, by the HTTP status of the provider's reply; empty if none came.",
    labels: ['sluice_provider', 'status'],
  });
  readonly #errors = this.metrics.counter({
    name: 'sluice_upstream_errors_total',
    help: 'Failed attempts, by kind of failure.',
    labels: ['sluice_provider', 'kind'],
  });
  /** `gen_ai.provider.name` by configured name. */
  readonly #kinds = new Map<string, string>();
  /** By model. */
  readonly #series = new Map<string, ClientSeries[]>();

  /** Learns the kind of a provider, and creates the series of its attempts and failures, so that the first one is seen as an increase. */
  prepare(provider: string, providerName: string, failures: readonly string[]): void {
    this.#kinds.set(provider, providerName);
    for (const status of preparedStatuses) this.#attempts.labels(provider, status);
    for (const kind of failures) this.#errors.labels(provider, kind);
  }

  /** Forgets the kind of a provider that is gone. */
  forget(provider: string): void {
    this.#kinds.delete(provider);
  }

  /** Forgets the series that were looked up: some may have been removed. */
  unbind(): void {
    this.#series.clear();
  }

  /** `gen_ai.provider.name` of the provider with this configured name; empty without one. */
  kindOf(provider: string | undefined): string {
    return (provider !== undefined && this.#kinds.get(provider)) || '';
  }

  /** Counts an attempt that has ended, with the status of its reply, if one came; `kind` is that of its failure, if it failed. */
  attempted(
    exchange: Measured,
    provider: string,
    duration_ms: number,
    kind: string | undefined,
    status: number | undefined,
  ): void {
    const series = this.#seriesOf(exchange, provider);
    let { last } = series;
    if (!last || last.kind !== kind || last.status !== status)
      series.last = last = {
        kind,
        status,
        duration: this.#duration.labels(...series.labels, kind ?? ''),
        attempts: this.#attempts.labels(provider, statusLabel(status)),
        errors: kind === undefined ? undefined : this.#errors.labels(provider, kind),
      };
    last.duration.observe(duration_ms / 1000, exchange.trace_id);
    last.attempts.inc();
    last.errors?.inc();
  }

  firstChunk(exchange: Measured, provider: string, wait_ms: number): void {
    const series = this.#seriesOf(exchange, provider);
    series.firstChunk ??= this.#firstChunk.labels(...series.labels);
    series.firstChunk.observe(wait_ms / 1000, exchange.trace_id);
  }

  /** The series of the time between the chunks of one attempt, in seconds, for the attempt to hold. */
  chunkTime(exchange: Measured, provider: string): HistogramSeries {
    const series = this.#seriesOf(exchange, provider);
    series.perChunk ??= this.#perChunk.labels(...series.labels);
    return series.perChunk;
  }

  /** Counts the tokens of a settled exchange. */
  used(exchange: Measured, provider: string, input: number, output: number): void {
    const series = this.#seriesOf(exchange, provider);
    series.input ??= this.#tokens.labels(...series.labels, 'input');
    series.output ??= this.#tokens.labels(...series.labels, 'output');
    series.input.observe(input);
    series.output.observe(output);
  }

  #seriesOf({ operation, model }: Measured, provider: string): ClientSeries {
    const name = model?.id ?? other_model;
    let ofModel = this.#series.get(name);
    if (!ofModel) this.#series.set(name, (ofModel = []));
    for (const known of ofModel)
      if (known.provider === provider && known.operation === operation) return known;
    const labels = [operation ?? '', this.kindOf(provider), provider, name] as const;
    const series: ClientSeries = { operation, provider, labels };
    ofModel.push(series);
    return series;
  }
}
