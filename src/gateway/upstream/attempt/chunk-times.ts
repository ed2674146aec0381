import type { ClientMetrics } from '../../../telemetry/client-metrics.ts';
import type { HistogramSeries } from '../../../telemetry/metric-series.ts';
import type { RunningAttempt } from '../../exchange/attempt-record.ts';
import type { Exchange } from '../../exchange/exchange.ts';

/** Observes when the chunks of one attempt arrive, of which the first has. */
export class ChunkTimes {
  /** From sending to the first chunk, in milliseconds. */
  readonly first_ms: number;
  readonly #exchange: Exchange;
  readonly #series: HistogramSeries;
  #last_ms: number;

  constructor(exchange: Exchange, provider: string, metrics: ClientMetrics, attempt: RunningAttempt) {
    this.#exchange = exchange;
    this.#last_ms = exchange.clock.elapsed_ms();
    this.first_ms = attempt.elapsed_ms;
    metrics.firstChunk(exchange, provider, this.first_ms);
    this.#series = metrics.chunkTime(exchange, provider);
  }

  /** Notes further chunks, which have arrived together. */
  arrived(count: number): void {
    const now_ms = this.#exchange.clock.elapsed_ms();
    this.#series.observe((now_ms - this.#last_ms) / 1000 / count, undefined, count);
    this.#last_ms = now_ms;
  }
}
