import type {
  Charge,
  Limit,
  LimitName,
  StateStore,
  Taken,
  Ticket,
} from '../../src/stores/limits/state-store.ts';
import type { FakeClock } from './fake-clock.ts';

/** A store that keeps to `clock`, and nothing in it. */
export interface StoreUnderTest {
  readonly store: StateStore;
  /** How long a lease lives on the test's clock, on which nobody renews it; for ever without it. */
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
  #asked = 0;

  constructor(under: StoreUnderTest, clock: FakeClock) {
    this.#under = under;
    this.clock = clock;
  }

  async take(
    limits: readonly Limit[],
    reserve = charge(),
    more: { account?: string; force?: boolean } = {},
  ): Promise<Taken> {
    return this.#under.store.take({ id: `lease-${++this.#asked}`, account: 'a', limits, reserve, ...more });
  }

  /** The ticket of a take that must be admitted. */
  async admitted(...asked: Parameters<StoreSetting['take']>): Promise<Ticket> {
    const taken = await this.take(...asked);
    if (!taken.admitted) throw new Error(`refused by ${taken.refused_by.name} for ${taken.retry_ms} ms`);
    return taken.ticket;
  }

  /** The answer to a take that must be refused. */
  async refused(...asked: Parameters<StoreSetting['take']>): Promise<Extract<Taken, { admitted: false }>> {
    const taken = await this.take(...asked);
    if (taken.admitted) throw new Error('admitted');
    return taken;
  }

  async settle(ticket: Ticket, used: Charge): Promise<void> {
    ticket.settle(used);
    await this.#under.settled?.();
  }

  async remaining(...limits: readonly Limit[]): Promise<number[]> {
    return (await this.#under.store.standings('a', limits)).map(({ remaining }) => remaining);
  }

  get lease_ms(): number {
    return this.#under.lease_ms ?? Number.POSITIVE_INFINITY;
  }

  get store(): StateStore {
    return this.#under.store;
  }
}
