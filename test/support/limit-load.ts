import type { Limit } from '../../src/gateway/limits/limit-table.ts';
import { openRedisStore, type RedisStore, type RedisStoreOptions } from './redis-store.ts';
import { charge } from './state-store-setting.ts';

/** Exchanges of one account at several instances at once, until it is stopped. */
export class LimitLoad {
  admitted = 0;
  refused = 0;
  /** Reservations that were answered by an error, which clients see as 502. */
  failed = 0;
  /** The longest that a reservation took. */
  longest_ms = 0;
  #isStopped = false;
  readonly #running: Promise<void>[];

  /** `parallel` exchanges at each store. */
  constructor(stores: readonly RedisStore[], account: string, limits: readonly Limit[], parallel = 3) {
    this.#running = stores.flatMap(opened =>
      Array.from({ length: parallel }, async () => {
        while (!this.#isStopped) await this.#exchange(opened, account, limits);
      }),
    );
  }

  get decided(): number {
    return this.admitted + this.refused;
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await Promise.all(this.#running);
  }

  async #exchange({ store }: RedisStore, account: string, limits: readonly Limit[]): Promise<void> {
    const began_ms = performance.now();
    try {
      const result = await store.reserve({ account, limits, charge: charge(10) });
      if (result.admitted) {
        this.admitted++;
        result.reservation.settle(charge(7));
      } else this.refused++;
    } catch {
      this.failed++;
    }
    this.longest_ms = Math.max(this.longest_ms, performance.now() - began_ms);
    // What is decided without a call must not keep sockets from being read, nor servers from the processor.
    await new Promise(resolve => setTimeout(resolve, 10));
  }
}

const stores: RedisStore[] = [];
const loads: LimitLoad[] = [];

/** A store as `openRedisStore` opens it, until `closeStores`. */
export async function storeOf(options: RedisStoreOptions): Promise<RedisStore> {
  const opened = await openRedisStore(options);
  stores.push(opened);
  return opened;
}

/** A load that runs until `closeStores`. */
export function loadOf(...given: ConstructorParameters<typeof LimitLoad>): LimitLoad {
  const running = new LimitLoad(...given);
  loads.push(running);
  return running;
}

/** Stops the loads that run. */
export const stopLoads = (): Promise<unknown> => Promise.all(loads.splice(0).map(load => load.stop()));

/** For afterEach. */
export async function closeStores(): Promise<void> {
  await stopLoads();
  await Promise.all(stores.splice(0).map(({ store }) => store.close()));
}
