import type { Clock } from '../../clock.ts';
import { RecentCache } from '../../stores/recent-cache.ts';

interface Failures {
  readonly count: number;
  readonly last_ms: number;
}

/** After so many failures each further one doubles the wait, from one second up to a bound. */
interface Patience {
  readonly free: number;
  readonly max_wait_ms: number;
}

/** A name is held back only shortly: otherwise whoever knows it could keep its owner out. */
const of_name: Patience = { free: 5, max_wait_ms: 30_000 };
const of_address: Patience = { free: 10, max_wait_ms: 900_000 };
/** Failures are forgotten after this. */
const memory_ms = 3_600_000;
/** About 150 bytes each. */
const max_remembered = 20_000;

/** Makes guessing slow, by name and by address, with a bounded memory. */
export class SlowDown {
  readonly #clock: Clock;
  readonly #failures = new RecentCache<Failures>(max_remembered);

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** How long until this name may be tried again from this address; 0 for at once. */
  wait_ms(name: string, address: string): number {
    return Math.max(this.#wait_ms(nameKey(name), of_name), this.#wait_ms(addressKey(address), of_address));
  }

  failed(name: string, address: string): void {
    const last_ms = this.#clock.elapsed_ms();
    for (const key of [nameKey(name), addressKey(address)])
      this.#failures.set(key, { count: (this.#known(key)?.count ?? 0) + 1, last_ms });
  }

  succeeded(name: string, address: string): void {
    this.#failures.delete(nameKey(name));
    this.#failures.delete(addressKey(address));
  }

  #known(key: string): Failures | undefined {
    const known = this.#failures.get(key);
    return known && this.#clock.elapsed_ms() - known.last_ms < memory_ms ? known : undefined;
  }

  #wait_ms(key: string, { free, max_wait_ms }: Patience): number {
    const known = this.#known(key);
    if (!known || known.count < free) return 0;
    const wait_ms = Math.min(1000 * 2 ** (known.count - free), max_wait_ms);
    return Math.max(0, known.last_ms + wait_ms - this.#clock.elapsed_ms());
  }
}

/** What a client chooses is cut before it is remembered. */
const nameKey = (name: string): string => `name ${name.slice(0, 128)}`;
const addressKey = (address: string): string => `address ${networkOf(address)}`;

/** Whoever has one IPv6 address has the 64 bits below its network as well. */
function networkOf(address: string): string {
  if (!address.includes(':') || address.startsWith('::ffff:')) return address;
  const [head = '', tail] = address.split('::');
  const groups = head.split(':').filter(Boolean);
  const left_out = tail === undefined ? 0 : 8 - groups.length - tail.split(':').filter(Boolean).length;
  return [...groups, ...Array(Math.max(0, left_out)).fill('0'), ...(tail ?? '').split(':')]
    .slice(0, 4)
    .join(':');
}
