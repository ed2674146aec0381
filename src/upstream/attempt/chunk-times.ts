import type { Exchange } from '../../exchange.ts';
import type { ClientMetrics } from '../../telemetry/client-metrics.ts';
import type { HistogramSeries } from '../../telemetry/metric-series.ts';

/** When the chunks of one attempt's stream arrive, for the metrics. */
export class ChunkTimes {
  readonly #exchange: Exchange;
  readonly #provider: string;
  readonly #metrics: ClientMetrics;
  readonly #sent_ms: number;
  #last_ms = 0;
  #series: HistogramSeries | undefined;

  constructor(exchange: Exchange, provider: string, metrics: ClientMetrics, sent_ms: number) {
    this.#exchange = exchange;
    this.#provider = provider;
    this.#metrics = metrics;
    this.#sent_ms = sent_ms;
  }

  /** `count` chunks have arrived together. */
  arrived(count: number): void {
    if (count === 0) return;
    const now_ms = this.#exchange.clock.elapsed_ms();
    if (this.#series) this.#series.observe((now_ms - this.#last_ms) / 1000 / count, undefined, count);
    else {
      this.#metrics.firstChunk(this.#exchange, this.#provider, now_ms - this.#sent_ms);
      this.#series = this.#metrics.chunkTime(this.#exchange, this.#provider);
    }
    this.#last_ms = now_ms;
  }
}
