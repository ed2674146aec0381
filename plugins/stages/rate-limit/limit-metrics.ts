import {
  type Counter,
  type Histogram,
  type Limit,
  type LimitStatus,
  limitLabel,
  type StageSetup,
} from '../../../src/plugin.ts';
import { FullestLimits } from './fullest-limits.ts';

const shareBuckets = [0, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 1];
/** `over`: admitted by a dry run although it is over the limit. */
type Decision = 'admitted' | 'refused' | 'over';

/** The series of one limit. */
interface LimitSeries {
  readonly decisions: Readonly<Record<Decision, ReturnType<Counter<['limit', 'decision']>['labels']>>>;
  readonly headroom: ReturnType<Histogram<['limit']>['labels']>;
}

/** Counts the decisions of limits, by their names in the configuration; those of keys begin with `key.`. */
export class LimitMetrics {
  readonly #decisions;
  readonly #headroom;
  /** By the name of the limit: looking a series up by its labels costs more. */
  readonly #series = new Map<string, LimitSeries>();
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
  decided(account: string, status: LimitStatus, decision: Decision): void {
    const { limit, remaining } = status;
    const { decisions, headroom } = this.#seriesOf(limit);
    decisions[decision].inc();
    headroom.observe(remaining / limit.max);
    this.#fullest.decided(account, status, decision !== 'admitted');
  }

  /** All series of a limit, created together so that its first refusal is seen as an increase. */
  #seriesOf(limit: Limit): LimitSeries {
    const name = limitLabel(limit);
    const known = this.#series.get(name);
    if (known) return known;
    const series = {
      decisions: {
        admitted: this.#decisions.labels(name, 'admitted'),
        refused: this.#decisions.labels(name, 'refused'),
        over: this.#decisions.labels(name, 'over'),
      },
      headroom: this.#headroom.labels(name),
    };
    this.#series.set(name, series);
    return series;
  }

  /** Shows no accounts any longer. */
  close(): void {
    this.#fullest.close();
  }
}
