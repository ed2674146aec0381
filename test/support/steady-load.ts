import type { Fleet, Sent } from './sidecar-fleet.ts';
import { until } from './until.ts';

/** Requests of one account at a constant rate, to all instances in turn, however slowly they are answered. */
export class SteadyLoad {
  /** The replies, each with the place of its request in the order in which they were sent. */
  readonly answered: (Sent & { readonly at: number })[] = [];
  /** Requests whose connection failed. */
  failed = 0;
  /** How many requests have been sent. */
  sent = 0;
  readonly #running: Promise<void>[] = [];
  readonly #timer: NodeJS.Timeout;

  constructor(fleet: Fleet, account: string, per_second: number) {
    const began_ms = performance.now();
    this.#timer = setInterval(() => {
      const due = ((performance.now() - began_ms) / 1000) * per_second;
      while (this.sent < due) this.#running.push(this.#keep(this.sent++, fleet.send(account)));
    }, 5);
  }

  get longest_ms(): number {
    return this.longestFrom(0);
  }

  /** The longest wait of a request among those from the `first` on. */
  longestFrom(first: number): number {
    return Math.max(...this.answered.filter(({ at }) => at >= first).map(({ took_ms }) => took_ms));
  }

  /** Resolves when so many more have been answered. */
  async more(count: number): Promise<void> {
    const all = this.answered.length + count;
    await until(() => this.answered.length >= all, 15_000);
  }

  /** Sends no more. Resolves when all have been answered. */
  async end(): Promise<void> {
    clearInterval(this.#timer);
    await Promise.all(this.#running);
  }

  async #keep(at: number, reply: Promise<Sent>): Promise<void> {
    try {
      this.answered.push({ ...(await reply), at });
    } catch {
      this.failed++;
    }
  }
}
