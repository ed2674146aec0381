import type { Limit, LimitName } from '../../src/gateway/limits/limit-table.ts';
import type { Charge } from '../../src/gateway/limits/limit-units.ts';
import type { Reservation, ReservationResult, StateStore } from '../../src/gateway/limits/state-store.ts';
import type { FakeClock } from './fake-clock.ts';

/** A store that keeps to `clock`, and nothing in it. */
export interface StoreUnderTest {
  readonly store: StateStore;
  /** Milliseconds of the test's clock until a lease expires; it is never renewed there. Without this, leases never expire. */
  readonly lease_ms?: number;
  /** Resolves when all that was settled counts. */
  settled?(): Promise<void>;
  close?(): Promise<void>;
}

export const limit = (name: LimitName, max: number, model?: string): Limit => ({ name, max, model });
export const charge = (tokens = 0, nano_usd = 0, requests = 1): Charge => ({ requests, tokens, nano_usd });
export const nothing = charge(0, 0, 0);

/** A store, its clock and its client: what the tests of the contract speak to. */
export class StoreSetting {
  readonly clock: FakeClock;
  readonly #under: StoreUnderTest;

  constructor(under: StoreUnderTest, clock: FakeClock) {
    this.#under = under;
    this.clock = clock;
  }

  async reserve(
    limits: readonly Limit[],
    estimate = charge(),
    more: { account?: string; force?: boolean } = {},
  ): Promise<ReservationResult> {
    return this.#under.store.reserve({
      account: 'a',
      limits,
      charge: estimate,
      ...more,
    });
  }

  /** The reservation of a take that must be admitted. */
  async admitted(...asked: Parameters<StoreSetting['reserve']>): Promise<Reservation> {
    const taken = await this.reserve(...asked);
    if (!taken.admitted) throw new Error(`refused by ${taken.refused_by.name} for ${taken.retry_ms} ms`);
    return taken.reservation;
  }

  /** The answer to a take that must be refused. */
  async refused(
    ...asked: Parameters<StoreSetting['reserve']>
  ): Promise<Extract<ReservationResult, { admitted: false }>> {
    const taken = await this.reserve(...asked);
    if (taken.admitted) throw new Error('admitted');
    return taken;
  }

  async settle(reservation: Reservation, used: Charge): Promise<void> {
    reservation.settle(used);
    await this.#under.settled?.();
  }

  /** How much is used above each limit. */
  async over(...limits: readonly Limit[]): Promise<number[]> {
    return (await this.#under.store.statuses('a', limits)).map(({ over = 0 }) => over);
  }

  async remaining(...limits: readonly Limit[]): Promise<number[]> {
    return (await this.#under.store.statuses('a', limits)).map(({ remaining }) => remaining);
  }

  get lease_ms(): number {
    return this.#under.lease_ms ?? Number.POSITIVE_INFINITY;
  }

  get store(): StateStore {
    return this.#under.store;
  }
}
