import type { LimitStatus, PluginMetrics } from '../../../src/plugin.ts';

const shareBuckets = [0, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 1];
/** `over`: admitted by a dry run although it is over the limit. */
const decisions = ['admitted', 'refused', 'over'] as const;

/** Counts the decisions of limits, by their names in the configuration. */
export class LimitMetrics {
  readonly #decisions;
  readonly #headroom;
  readonly #known = new Set<string>();

  constructor(metrics: PluginMetrics) {
    this.#decisions = metrics.counter({
      name: 'decisions_total',
      help: 'Decisions of account limits: admitted, refused, or over (admitted by a dry run).',
      labels: ['limit', 'decision'],
    });
    this.#headroom = metrics.histogram({
      name: 'headroom_ratio',
      help: 'What remained of a limit after a decision, as a share of the whole.',
      labels: ['limit'],
      buckets: shareBuckets,
    });
  }

  /** Counts a decision, with the status of the limit after it. */
  decided({ limit: { name, max }, remaining }: LimitStatus, decision: (typeof decisions)[number]): void {
    // Creates all series of a limit, so that its first refusal is seen as an increase.
    if (!this.#known.has(name)) for (const each of decisions) this.#decisions.labels(name, each);
    this.#known.add(name);
    this.#decisions.labels(name, decision).inc();
    this.#headroom.labels(name).observe(remaining / max);
  }
}
