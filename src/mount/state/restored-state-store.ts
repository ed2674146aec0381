import type { Limit } from '../../gateway/limits/limit-table.ts';
import type {
  LimitStatuses,
  ReservationRequest,
  ReservationResult,
  StateStore,
} from '../../gateway/limits/state-store.ts';
import type { MemoryStateStore } from './counters/memory-state-store.ts';
import { PastRestorer, type PastSetup } from './past-restorer.ts';

/** Counters of this process that begin with the ledger's use, so that a restart does not reset them: see `PastRestorer`. */
export class RestoredStateStore implements StateStore {
  readonly #own: MemoryStateStore;
  readonly #past: PastRestorer;

  constructor(own: MemoryStateStore, past: PastSetup) {
    this.#own = own;
    this.#past = new PastRestorer(own, past);
  }

  reserve(request: ReservationRequest): ReservationResult | Promise<ReservationResult> {
    return this.#past.restored(request.account, request.limits, () => this.#own.reserve(request));
  }

  statuses(account: string, limits: readonly Limit[]): LimitStatuses | Promise<LimitStatuses> {
    return this.#past.restored(account, limits, () => this.#own.statuses(account, limits));
  }

  knownStatuses(account: string, limits: readonly Limit[]): LimitStatuses {
    const unknown = this.#past.unknown(account, limits);
    return this.#own.knownStatuses(
      account,
      limits.filter(limit => !unknown.includes(limit)),
    );
  }

  close(): Promise<void> {
    return this.#own.close();
  }
}
