import { type LimitStatus, limitLabel, type StageSetup } from '../../../src/plugin.ts';
import { FullestLimits } from './fullest-limits.ts';

const shareBuckets = [0, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 1];
/** `over`: admitted by a dry run although it is over the limit. */
const decisions = ['admitted', 'refused', 'over'] as const;

/** Counts the decisions of limits, by their names in the configuration; those of keys begin with `key.`. */
export class LimitMetrics {
  readonly #decisions;
  readonly #headroom;
  readonly #known = new Set<string>();
  readonly #fullest: FullestLimits;

  constructor(setup: Pick<StageSetup, 'metrics' | 'state' | 'clock'>) {
    const { metrics } = setup;
    this.#fullest = new FullestLimits(setup);
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

  /** Counts a decision, with the status of the account's limit after it. */
  decided(account: string, status: LimitStatus, decision: (typeof decisions)[number]): void {
    const { limit, remaining } = status;
    const name = limitLabel(limit);
    // Creates all series of a limit, so that its first refusal is seen as an increase.
    if (!this.#known.has(name)) for (const each of decisions) this.#decisions.labels(name, each);
    this.#known.add(name);
    this.#decisions.labels(name, decision).inc();
    this.#headroom.labels(name).observe(remaining / limit.max);
    this.#fullest.decided(account, status, decision !== 'admitted');
  }

  /** Shows no accounts any longer. */
  close(): void {
    this.#fullest.close();
  }
}
