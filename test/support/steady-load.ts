import type { Fleet, Sent } from './sidecar-fleet.ts';
import { until } from './until.ts';

/** Requests of one account at a constant rate, to all instances in turn, however slowly they are answered. */
export class SteadyLoad {
  readonly answered: Sent[] = [];
  /** Requests whose connection failed. */
  failed = 0;
  readonly #fleet: Fleet;
  readonly #account: string;
  readonly #per_second: number;
  readonly #began_ms = performance.now();
  readonly #running = new Set<Promise<void>>();
  readonly #timer: NodeJS.Timeout;
  /** By the order in which they were sent; sparse until all have been answered. */
  readonly #waits_ms: (number | undefined)[] = [];
  #sent = 0;

  constructor(fleet: Fleet, account: string, per_second: number) {
    this.#fleet = fleet;
    this.#account = account;
    this.#per_second = per_second;
    this.#timer = setInterval(() => this.#catchUp(), 5);
  }

  get longest_ms(): number {
    return Math.max(...this.answered.map(({ took_ms }) => took_ms));
  }

  /** The longest wait of a request among those from the `first` on, in the order in which they were sent. */
  longestFrom(first: number): number {
    return Math.max(...this.#waits_ms.slice(first).filter(wait => wait !== undefined));
  }

  /** How many requests have been sent. */
  get sent(): number {
    return this.#sent;
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

  #catchUp(): void {
    const due = ((performance.now() - this.#began_ms) / 1000) * this.#per_second;
    for (; this.#sent < due; this.#sent++) {
      const running = this.#send(this.#sent).finally(() => this.#running.delete(running));
      this.#running.add(running);
    }
  }

  async #send(index: number): Promise<void> {
    try {
      const sent = await this.#fleet.send(this.#account);
      this.answered.push(sent);
      this.#waits_ms[index] = sent.took_ms;
    } catch {
      this.failed++;
    }
  }
}
