import {
  type Counter,
  type Histogram,
  type Limit,
  type LimitName,
  type LimitStatus,
  limitLabel,
  type StageSetup,
} from '../../../src/plugin.ts';
import { FullestLimits, type LimitedAccount, min_shown } from './fullest-limits.ts';

const shareBuckets = [0, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 1];

/** The series of one limit. */
interface LimitSeries {
  readonly admitted: ReturnType<Counter<['limit', 'decision']>['labels']>;
  readonly refused: LimitSeries['admitted'];
  /** Admitted by a dry run, or since it is soft, although it is over the limit. */
  readonly over: LimitSeries['admitted'];
  readonly headroom: ReturnType<Histogram<['limit']>['labels']>;
}

type SeriesByName = Partial<Record<LimitName, LimitSeries>>;

/** Counts the decisions of limits, by their names in the configuration; those of keys begin with `key.`, those of parents with `parent.`. */
export class LimitMetrics {
  readonly #decisions;
  readonly #headroom;
  /** Looking a series up by its labels costs more. */
  readonly #ofAccounts: SeriesByName = {};
  readonly #ofKeys: SeriesByName = {};
  readonly #ofParents: SeriesByName = {};
  readonly #fullest: FullestLimits;

  constructor(setup: Pick<StageSetup, 'metrics' | 'state' | 'clock'>) {
    const { metrics } = setup;
    this.#fullest = new FullestLimits(setup);
    this.#decisions = metrics.counter({
      name: 'decisions_total',
      help: 'Decisions of account limits: admitted, refused, or over (admitted by a dry run or a soft limit).',
      labels: ['limit', 'decision'],
    });
    this.#headroom = metrics.histogram({
      name: 'headroom_ratio',
      help: 'What remained of a limit after a decision, as a share of the whole.',
      labels: ['limit'],
      buckets: shareBuckets,
    });
  }

  /** Counts an admission, with the status of the account's limits after it, of which some are exceeded. Returns a soft one that is. */
  admitted(
    account: LimitedAccount,
    statuses: readonly LimitStatus[],
    over: readonly Limit[],
  ): Limit | undefined {
    let soft: Limit | undefined;
    for (let at = 0; at < statuses.length; at++) {
      const status = statuses[at]!;
      const { limit, remaining } = status;
      let byName = limit.key === undefined ? this.#ofAccounts : this.#ofKeys;
      if (limit.inherited) byName = this.#ofParents;
      const series = byName[limit.name] ?? this.#added(limit);
      const share = remaining / limit.max;
      series.headroom.observe(share);
      if (limit.soft && remaining <= 0) soft = limit;
      const isOver = limit === soft || (over.length > 0 && over.includes(limit));
      (isOver ? series.over : series.admitted).inc();
      if (isOver || 1 - share >= min_shown) this.#fullest.decided(account, status, isOver);
    }
    return soft;
  }

  /** Counts the decision of the limit that has refused. */
  refused(account: LimitedAccount, status: LimitStatus): void {
    const { refused, headroom } = this.#added(status.limit);
    refused.inc();
    headroom.observe(status.remaining / status.limit.max);
    this.#fullest.decided(account, status, true);
  }

  /** All series of a limit, created together so that its first refusal is seen as an increase. */
  #added(limit: Limit): LimitSeries {
    const name = limitLabel(limit);
    const ofOthers = limit.inherited ? this.#ofParents : this.#ofAccounts;
    const byName = limit.key === undefined ? ofOthers : this.#ofKeys;
    byName[limit.name] ??= {
      admitted: this.#decisions.labels(name, 'admitted'),
      refused: this.#decisions.labels(name, 'refused'),
      over: this.#decisions.labels(name, 'over'),
      headroom: this.#headroom.labels(name),
    };
    return byName[limit.name]!;
  }

  /** Shows no accounts any longer. */
  close(): void {
    this.#fullest.close();
  }
}
