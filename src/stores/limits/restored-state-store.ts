import type { Clock } from '../../clock.ts';
import type { Log } from '../../telemetry/log.ts';
import { within } from '../within.ts';
import type { Limit } from './limit-table.ts';
import type { MemoryStateStore, PastUse } from './memory-state-store.ts';
import type { LimitStatuses, ReservationRequest, ReservationResult, StateStore } from './state-store.ts';

/** The longest that a request waits for its account's past use. */
const patience_ms = 2000;
/** After a failure no request waits for this long; then accounts are looked up again, so many at once. */
const retry_ms = 1000;
const retried_at_once = 100;

/** Finds an account's use of the present day and month before this process counted it. */
export interface PastUseSource {
  /** Rejects while the ledger cannot be read. */
  find(account: string): Promise<PastUse>;
}

export interface RestoredStateSetup {
  readonly own: MemoryStateStore;
  readonly past: PastUseSource;
  readonly clock: Clock;
  readonly log: Pick<Log, 'warn'>;
}

/**
 * Counters of this process that begin with the ledger's use of the present day and month, so that a restart does not reset them. The first
 * request of an account waits for the ledger, two seconds at most; without its answer the account counts from zero until it comes. The
 * ledger includes other instances' use, as far as it was written before the account's first request here.
 */
export class RestoredStateStore implements StateStore {
  readonly #setup: RestoredStateSetup;
  /** Accounts whose past use is still unknown. */
  readonly #late = new Set<string>();
  #failed_ms = Number.NEGATIVE_INFINITY;
  #retried_ms = 0;

  constructor(setup: RestoredStateSetup) {
    this.#setup = setup;
  }

  reserve(request: ReservationRequest): ReservationResult | Promise<ReservationResult> {
    if (this.#late.size > 0) this.#retryLate();
    return this.#restored(request.account, request.limits, () => this.#setup.own.reserve(request));
  }

  statuses(account: string, limits: readonly Limit[]): LimitStatuses | Promise<LimitStatuses> {
    return this.#restored(account, limits, () => this.#setup.own.statuses(account, limits));
  }

  knownStatuses(account: string, limits: readonly Limit[]): LimitStatuses {
    const known = limits.filter(limit => !this.#isUnknown(account, [limit]));
    return this.#setup.own.knownStatuses(account, known);
  }

  close(): Promise<void> {
    return this.#setup.own.close();
  }

  #restored<T>(account: string, limits: readonly Limit[], decide: () => T): T | Promise<T> {
    return this.#isUnknown(account, limits) ? this.#restore(account, limits).then(decide) : decide();
  }

  /** Requests without an account have no rows. */
  #isUnknown(account: string, limits: readonly Limit[]): boolean {
    return account !== '' && this.#setup.own.lacks(account, limits) && !this.#late.has(account);
  }

  /** Never rejects. */
  async #restore(account: string, limits: readonly Limit[]): Promise<void> {
    const { own, past, clock } = this.#setup;
    try {
      const wait_ms = clock.elapsed_ms() - this.#failed_ms < retry_ms ? 0 : patience_ms;
      const late = () => new Error(`no answer within ${wait_ms} ms`);
      own.raise(account, await within(past.find(account), wait_ms, late), limits);
    } catch (fault) {
      this.#failed(account, fault);
    }
  }

  #failed(account: string, fault: unknown): void {
    const { clock, log } = this.#setup;
    this.#failed_ms = clock.elapsed_ms();
    if (this.#late.size === 0) {
      this.#retried_ms = this.#failed_ms;
      log.warn(
        { err: fault },
        'past usage cannot be read from the ledger: limits on days and months count from 0 until it can',
      );
    }
    this.#late.add(account);
  }

  /** Looks some of the late accounts up again; nothing waits for it. */
  #retryLate(): void {
    const { own, past, clock } = this.#setup;
    const now_ms = clock.elapsed_ms();
    if (now_ms - this.#retried_ms < retry_ms) return;
    this.#retried_ms = now_ms;
    for (const account of [...this.#late].slice(0, retried_at_once))
      past.find(account).then(
        use => {
          own.raise(account, use);
          this.#late.delete(account);
          this.#failed_ms = Number.NEGATIVE_INFINITY;
        },
        () => {},
      );
  }
}
