import type { Registry } from 'prom-client';
import { type Measured, modelLabel } from './measured.ts';
import { type HistogramSeries, SeriesCounter, SeriesHistogram } from './series.ts';

/** OpenTelemetry's for the duration of an operation, with two more for answers that take minutes (protocol l). */
export const operationBuckets_s = [
  0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92, 163.84, 327.68,
];
const tokenBuckets = Array.from({ length: 14 }, (_, power) => 4 ** power);

/** What the gateway counts as the client of its providers, under the names of the GenAI conventions (protocol l). */
export class ClientMetrics {
  readonly #duration;
  readonly #tokens;
  readonly #firstChunk;
  readonly #perChunk;
  readonly #errors;

  constructor(registry: Registry) {
    const registers = [registry];
    const labels = ['gen_ai_provider_name', 'gen_ai_request_model'] as const;
    this.#duration = new SeriesHistogram(
      {
        name: 'gen_ai_client_operation_duration_seconds',
        help: 'One attempt at one provider, from sending to the last byte.',
        labelNames: [...labels, 'error_type'],
        registers,
      },
      operationBuckets_s,
    );
    this.#tokens = new SeriesHistogram(
      {
        name: 'gen_ai_client_token_usage',
        help: 'Billable tokens of an exchange by the provider that answered it.',
        labelNames: [...labels, 'gen_ai_token_type'],
        registers,
      },
      tokenBuckets,
    );
    this.#firstChunk = new SeriesHistogram(
      {
        name: 'gen_ai_client_operation_time_to_first_chunk_seconds',
        help: 'From sending to the first chunk of a stream.',
        labelNames: labels,
        registers,
      },
      operationBuckets_s,
    );
    this.#perChunk = new SeriesHistogram(
      {
        name: 'gen_ai_client_operation_time_per_output_chunk_seconds',
        help: 'Between two chunks of a stream as they arrive; chunks that arrive together share their wait.',
        labelNames: labels,
        registers,
      },
      operationBuckets_s,
    );
    this.#errors = new SeriesCounter({
      name: 'sluice_upstream_errors_total',
      help: 'Attempts that failed, by kind.',
      labelNames: ['gen_ai_provider_name', 'kind'],
      registers,
    });
  }

  /** Makes the series of a provider's failures, so that the first one is seen as an increase. */
  prepare(provider: string, kinds: readonly string[]): void {
    for (const kind of kinds) this.#errors.series(provider, kind);
  }

  /** An attempt has ended; `kind` says what went wrong, if anything did. */
  attempted(exchange: Measured, provider: string, duration_ms: number, kind: string | undefined): void {
    const series = this.#duration.series(provider, modelLabel(exchange), kind ?? '');
    series.observe(duration_ms / 1000, exchange.trace_id);
    if (kind !== undefined) this.#errors.add(1, provider, kind);
  }

  firstChunk(exchange: Measured, provider: string, wait_ms: number): void {
    this.#firstChunk.series(provider, modelLabel(exchange)).observe(wait_ms / 1000, exchange.trace_id);
  }

  /** Where the time between the chunks of one attempt is observed, in seconds; for the attempt to hold on to. */
  chunkTime(exchange: Measured, provider: string): HistogramSeries {
    return this.#perChunk.series(provider, modelLabel(exchange));
  }

  /** What an exchange used, once that is settled. */
  used(exchange: Measured, provider: string, input: number, output: number): void {
    const model = modelLabel(exchange);
    this.#tokens.series(provider, model, 'input').observe(input);
    this.#tokens.series(provider, model, 'output').observe(output);
  }
}
