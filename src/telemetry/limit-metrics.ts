import type { Registry } from 'prom-client';
import { type HistogramSeries, SeriesCounter, SeriesHistogram } from './series.ts';

const shareBuckets = [0, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 1];

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

/** The decisions of all limits, by their names in the configuration. */
export class LimitCounts implements LimitMetrics {
  readonly #decisions;
  readonly #headroom;
  readonly #byLimit = new Map<string, LimitSeries>();

  constructor(registry: Registry) {
    const registers = [registry];
    this.#decisions = new SeriesCounter({
      name: 'sluice_limit_decisions_total',
      help: 'What the limits of accounts decided.',
      labelNames: ['limit', 'decision'],
      registers,
    });
    this.#headroom = new SeriesHistogram(
      {
        name: 'sluice_limit_headroom_ratio',
        help: 'What remained of a limit after a decision, as a share of the whole.',
        labelNames: ['limit'],
        registers,
      },
      shareBuckets,
    );
  }

  limitDecided(limit: string, decision: LimitDecision, headroom: number): void {
    const series = this.#byLimit.get(limit) ?? this.#seriesOf(limit);
    series[decision].value++;
    series.headroom.observe(headroom);
  }

  #seriesOf(limit: string): LimitSeries {
    const decided = (decision: LimitDecision) => this.#decisions.series(limit, decision);
    const series = {
      admitted: decided('admitted'),
      refused: decided('refused'),
      over: decided('over'),
      headroom: this.#headroom.series(limit),
    };
    this.#byLimit.set(limit, series);
    return series;
  }
}
