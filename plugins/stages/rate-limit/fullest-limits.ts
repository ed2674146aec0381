import { type Limit, type LimitStatus, limitLabel, type StageSetup, windowOf } from '../../../src/plugin.ts';

/** Series at a scrape, and the least use that is shown. */
const max_shown = 20;
export const min_shown = 0.5;
/** Accounts that are remembered; when there are more, the less full half is forgotten. */
const max_accounts = 200;
/** Time for which a refusal is shown, and concurrency of which the store does not tell when it ended. */
const hold_ms = 60_000;

/** An account, and the root of its tree, under which its limits are counted. */
export interface LimitedAccount {
  readonly account: string;
  readonly root: string;
}

/** A limit of an account of which half was used when it was last looked at. */
interface Full {
  root: string;
  limit: Limit;
  used: number;
  seen_ms: number;
  refused_ms: number;
}

type Setup = Pick<StageSetup, 'metrics' | 'state' | 'clock'>;

/**
 * The fullest limits of accounts, as a gauge. A decision only notes limits that are half used; what is used now the state store says at a
 * scrape. Without a call to its server: of a shared store each instance shows what it has seen.
 */
export class FullestLimits {
  readonly #state: Setup['state'];
  readonly #clock: Setup['clock'];
  #accounts = new Map<string, Map<string, Full>>();
  /** Ends the gauge. */
  readonly close: () => void;

  constructor({ metrics, state, clock }: Setup) {
    this.#state = state;
    this.#clock = clock;
    const gauge = metrics.gauge({
      name: 'used_ratio',
      help: `Used share of the fullest limits of accounts, at most ${max_shown} of those half used; 1 for a minute after a refusal.`,
      aggregator: 'max',
      labels: ['account', 'limit'],
      max_series: max_shown,
    });
    this.close = gauge.collect(() => this.#shown());
  }

  /** Notes the status of a limit after a decision; of an admission, only where `min_shown` is used. */
  decided({ account, root }: LimitedAccount, { limit, remaining }: LimitStatus, isRefused: boolean): void {
    const used = isRefused ? 1 : 1 - remaining / limit.max;
    const now_ms = this.#clock.elapsed_ms();
    // A limit of a parent is shown once, as that one's own.
    const owner = limit.inherited ? (limit.member ?? root) : account;
    const limits = this.#accounts.get(owner) ?? this.#added(owner);
    const label = labelOf(limit);
    // Of an account's keys, which may be many, the one that is fullest stands for all.
    const key = limit.model === undefined ? label : `${label}:${limit.model}`;
    let full = limits.get(key);
    if (full && full.limit.key !== limit.key && full.used > used) return;
    if (!full)
      limits.set(key, (full = { root, limit, used, seen_ms: now_ms, refused_ms: Number.NEGATIVE_INFINITY }));
    full.root = root;
    full.limit = limit;
    full.used = used;
    full.seen_ms = now_ms;
    if (isRefused) full.refused_ms = now_ms;
  }

  #added(account: string): Map<string, Full> {
    if (this.#accounts.size >= max_accounts) {
      const ranked = [...this.#accounts].toSorted(([, one], [, other]) => fullest(other) - fullest(one));
      this.#accounts = new Map(ranked.slice(0, max_accounts / 2));
    }
    const limits = new Map<string, Full>();
    this.#accounts.set(account, limits);
    return limits;
  }

  /** The series to show now, fullest first. Forgets limits that are half empty again. */
  #shown() {
    const now_ms = this.#clock.elapsed_ms();
    const shown: { labels: { account: string; limit: string }; value: number }[] = [];
    for (const [account, limits] of this.#accounts) {
      const known = [...limits.values()].flatMap(({ root, limit }) =>
        this.#state.knownStatuses(root, [limit]),
      );
      const statuses = new Map(known.map(each => [each.limit, each]));
      for (const [key, full] of limits) {
        full.used = usedNow(full, statuses.get(full.limit), now_ms);
        if (full.used < min_shown) limits.delete(key);
        else
          shown.push({
            labels: { account: account || '_none', limit: labelOf(full.limit) },
            value: full.used,
          });
      }
      if (limits.size === 0) this.#accounts.delete(account);
    }
    return shown.toSorted((one, other) => other.value - one.value).slice(0, max_shown);
  }
}

const labelOf = ({ name, key }: Limit): string => limitLabel({ name, key });

const fullest = (limits: ReadonlyMap<string, Full>): number =>
  Math.max(...[...limits.values()].map(({ used }) => used));

function usedNow(
  { limit, used, seen_ms, refused_ms }: Full,
  status: LimitStatus | undefined,
  now_ms: number,
): number {
  if (now_ms - refused_ms < hold_ms) return 1;
  if (status) return 1 - status.remaining / limit.max;
  // Of a window the store knows when it is over.
  return windowOf(limit).kind === 'running' && now_ms - seen_ms < hold_ms ? used : 0;
}
