import type { Clock } from '../../common/clock.ts';
import { within } from '../../common/within.ts';
import type { Limit } from '../../gateway/limits/limit-table.ts';
import type { Log } from '../../telemetry/log.ts';
import { type CounterOwner, ownerName } from './counters/counter-groups.ts';
import type { PastUse } from './counters/counters.ts';

/** The longest that a request waits for its account's past use. */
const patience_ms = 2000;
/** After a failure no request waits for this long; then accounts are looked up again, so many at once. */
const retry_ms = 1000;
const retried_at_once = 100;

/** Finds the use of present periods before this process counted it. */
export interface PastUseSource {
  /**
   * In the periods of `limits`: of an account and all that are below it, or of a stored key, without what this used of single models.
   * Rejects while the ledger cannot be read.
   */
  find(owner: CounterOwner, limits: readonly Limit[]): Promise<PastUse>;
}

export interface PastSetup {
  readonly past: PastUseSource;
  readonly clock: Clock;
  readonly log: Pick<Log, 'warn'>;
}

/** Counters that can begin with past use. */
interface RestorableCounters {
  lacking(account: string, limits: readonly Limit[]): readonly Limit[];
  /** The limits under which `owner` is counted. */
  counted(owner: CounterOwner): readonly Limit[];
  raise(owner: CounterOwner, past: PastUse, limits?: readonly Limit[]): void;
}

/**
 * Lets counters begin with the ledger's use of the present periods. The first request of an account, or of a key with limits, waits
 * for the ledger, two seconds at most; without its answer it counts from zero until the answer comes. The ledger includes other instances'
 * use, as far as it was written before that first request.
 */
export class PastRestorer {
  readonly #counters: RestorableCounters;
  readonly #setup: PastSetup;
  /** Accounts and keys whose past use is still unknown, by their names. */
  readonly #late = new Map<string, CounterOwner>();
  #failed_ms = Number.NEGATIVE_INFINITY;
  #retried_ms = 0;

  constructor(counters: RestorableCounters, setup: PastSetup) {
    this.#counters = counters;
    this.#setup = setup;
  }

  /** What `decide` returns once past use is counted. */
  restored<T>(account: string, limits: readonly Limit[], decide: () => T): T | Promise<T> {
    if (this.#late.size > 0) this.#retryLate();
    const unknown = this.unknown(account, limits);
    if (unknown.length === 0) return decide();
    const owners = new Map(
      unknown.map(({ key, member }) => {
        const owner = { account, key, member };
        return [ownerName(owner), owner];
      }),
    );
    return Promise.all([...owners.values()].map(owner => this.#restore(owner, limits))).then(decide);
  }

  /** The limits whose past use has not been looked up. Requests without an account have no rows. */
  unknown(account: string, limits: readonly Limit[]): readonly Limit[] {
    if (account === '') return [];
    const lacking = this.#counters.lacking(account, limits);
    return lacking.length === 0
      ? lacking
      : lacking.filter(({ key, member }) => !this.#late.has(ownerName({ account, key, member })));
  }

  /** Never rejects. */
  async #restore(owner: CounterOwner, limits: readonly Limit[]): Promise<void> {
    const { clock, past } = this.#setup;
    try {
      const wait_ms = clock.elapsed_ms() - this.#failed_ms < retry_ms ? 0 : patience_ms;
      const late = () => new Error(`no answer within ${wait_ms} ms`);
      this.#counters.raise(owner, await within(past.find(owner, limits), wait_ms, late), limits);
    } catch (fault) {
      this.#failed(owner, fault);
    }
  }

  #failed(owner: CounterOwner, fault: unknown): void {
    const { clock, log } = this.#setup;
    this.#failed_ms = clock.elapsed_ms();
    if (this.#late.size === 0) {
      this.#retried_ms = this.#failed_ms;
      log.warn(
        { err: fault },
        'past usage cannot be read from the ledger: limits on days and months count from 0 until it can',
      );
    }
    this.#late.set(ownerName(owner), owner);
  }

  /** Looks some of the late ones up again; nothing waits for it. */
  #retryLate(): void {
    const { clock, past } = this.#setup;
    const now_ms = clock.elapsed_ms();
    if (now_ms - this.#retried_ms < retry_ms) return;
    this.#retried_ms = now_ms;
    for (const [name, owner] of [...this.#late].slice(0, retried_at_once))
      past.find(owner, this.#counters.counted(owner)).then(
        use => {
          this.#counters.raise(owner, use);
          this.#late.delete(name);
          this.#failed_ms = Number.NEGATIVE_INFINITY;
        },
        () => {},
      );
  }
}
