import type { Limit } from '../../src/stores/limits/limit-table.ts';
import type { Charge } from '../../src/stores/limits/limit-units.ts';
import type { ReservationResult, StateStore } from '../../src/stores/limits/state-store.ts';
import { until } from './until.ts';

export interface LoadOptions {
  readonly account: string;
  readonly limits: readonly Limit[];
  readonly per_second: number;
  readonly charge: Charge;
  /** What the exchange of that number uses. */
  readonly used: (at: number) => Charge;
  /** How long an exchange lasts. */
  readonly lasts_ms: number;
}

/** Exchanges at a constant rate against a store, however slowly it answers. */
export class StateLoad {
  admitted = 0;
  refused = 0;
  /** Takes that threw. */
  failed = 0;
  /** What the settled exchanges have used. */
  tokens = 0;
  readonly takes_ms: number[] = [];
  readonly #store: StateStore;
  readonly #options: LoadOptions;
  readonly #running = new Set<Promise<void>>();
  readonly #timer: NodeJS.Timeout;
  readonly #began_ms = performance.now();
  #asked = 0;

  constructor(store: StateStore, options: LoadOptions) {
    this.#store = store;
    this.#options = options;
    this.#timer = setInterval(() => this.#catchUp(), 5);
  }

  /** The largest of the fastest 99 %. */
  get p99_ms(): number {
    const sorted = this.takes_ms.toSorted((a, b) => a - b);
    return sorted[Math.ceil(sorted.length * 0.99) - 1]!;
  }

  /** Takes that have not been answered. */
  get open(): number {
    return this.#running.size;
  }

  /** Resolves when so many more have been answered. */
  async more(count: number): Promise<void> {
    const all = this.takes_ms.length + count;
    await until(() => this.takes_ms.length >= all, 15_000);
  }

  /** Begins no more; resolves when all have ended. */
  async end(): Promise<void> {
    clearInterval(this.#timer);
    await Promise.all(this.#running);
  }

  #catchUp(): void {
    const due = ((performance.now() - this.#began_ms) / 1000) * this.#options.per_second;
    while (this.#asked < due) this.#begin(this.#asked++);
  }

  #begin(at: number): void {
    const running = this.#exchange(at).finally(() => this.#running.delete(running));
    this.#running.add(running);
  }

  async #exchange(at: number): Promise<void> {
    const { account, limits, charge, used, lasts_ms } = this.#options;
    const began_ms = performance.now();
    let taken: ReservationResult;
    try {
      taken = await this.#store.reserve({ id: `${process.pid}-${account}-${at}`, account, limits, charge });
    } catch {
      this.failed++;
      return;
    } finally {
      this.takes_ms.push(performance.now() - began_ms);
    }
    if (!taken.admitted) return void this.refused++;
    this.admitted++;
    await new Promise(resolve => setTimeout(resolve, lasts_ms));
    const spent = used(at);
    this.tokens += spent.tokens;
    taken.reservation.settle(spent);
  }
}
