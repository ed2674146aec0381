import type { Fleet, Sent } from './sidecar-fleet.ts';

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
  #sent = 0;

  constructor(fleet: Fleet, account: string, per_second: number) {
    this.#fleet = fleet;
    this.#account = account;
    this.#per_second = per_second;
    this.#timer = setInterval(() => this.#catchUp(), 5);
  }

  /** The longest wait of the fastest 99 %. */
  get p99_ms(): number {
    const sorted = this.answered.map(({ took_ms }) => took_ms).toSorted((a, b) => a - b);
    return sorted[Math.ceil(sorted.length * 0.99) - 1]!;
  }

  get longest_ms(): number {
    return Math.max(...this.answered.map(({ took_ms }) => took_ms));
  }

  /** Sends no more. Resolves when all have been answered. */
  async end(): Promise<void> {
    clearInterval(this.#timer);
    await Promise.all(this.#running);
  }

  #catchUp(): void {
    const due = ((performance.now() - this.#began_ms) / 1000) * this.#per_second;
    for (; this.#sent < due; this.#sent++) {
      const running = this.#send().finally(() => this.#running.delete(running));
      this.#running.add(running);
    }
  }

  async #send(): Promise<void> {
    try {
      this.answered.push(await this.#fleet.send(this.#account));
    } catch {
      this.failed++;
    }
  }
}
