import ipaddr from 'ipaddr.js';
import QuickLRU from 'quick-lru';
import type { Clock } from '../common/clock.ts';

interface Failures {
  readonly count: number;
  readonly last_ms: number;
  /** Time of the failure before the last one. */
  readonly earlier_ms: number;
}

/** What failures count for. After `free` of them each further one doubles the wait, from one second up to a bound. */
interface FailureCounter {
  readonly key: string;
  readonly free: number;
  readonly max_wait_ms: number;
  /** Whether it counts whatever the name. */
  readonly isOfAddress: boolean;
}

const of_person = { free: 5, max_wait_ms: 30_000, isOfAddress: false };
const of_address = { free: 10, max_wait_ms: 900_000, isOfAddress: true };
/** Time after which failures are forgotten. */
const memory_ms = 3_600_000;
/** Entries, of about 150 bytes; at most twice as many, because the cache keeps two generations. */
const remembered = { maxSize: 10_000 };

/** Origin of a login attempt. */
export interface LoginAttempt {
  /** The name that is tried; empty where there are none. */
  readonly name: string;
  /** Network address that it comes from. */
  readonly address: string;
  /** Id of a browser that has signed in with this name before. */
  readonly browser?: string | undefined;
}

/**
 * Throttles password guessing, with bounded memory. Failures count by name and address together and by address alone, never by name alone:
 * otherwise wrong passwords from elsewhere would lock an operator out. A browser that has signed in before counts by itself, so that an
 * attacker behind the same proxy cannot lock it out.
 */
export class LoginThrottle {
  readonly #clock: Clock;
  readonly #failures = new QuickLRU<string, Failures>(remembered);

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Milliseconds until this attempt may be made; 0: now. */
  wait_ms(attempt: LoginAttempt): number {
    return Math.max(...countersOf(attempt).map(counter => this.#wait_ms(counter)));
  }

  /** Counts a failure; to be called in advance, since attempts may come side by side. */
  failed(attempt: LoginAttempt): void {
    const last_ms = this.#clock.elapsed_ms();
    for (const { key } of countersOf(attempt)) {
      const { count = 0, last_ms: earlier_ms = last_ms } = this.#known(key) ?? {};
      this.#failures.set(key, { count: count + 1, last_ms, earlier_ms });
    }
  }

  /** Undoes one failure that was counted in advance. */
  undone(attempt: LoginAttempt): void {
    for (const { key } of countersOf(attempt)) this.#undo(key);
  }

  /**
   * Undoes the failure that was counted in advance, and forgets those of this name or browser. Those of the address stay: otherwise an
   * attacker's own sign-in between the guesses would let all of them through.
   */
  succeeded(attempt: LoginAttempt): void {
    for (const { key, isOfAddress } of countersOf(attempt)) {
      if (isOfAddress) this.#undo(key);
      else this.#failures.delete(key);
    }
  }

  #undo(key: string): void {
    const known = this.#known(key);
    if (!known) return;
    const { count, earlier_ms } = known;
    if (count === 1) this.#failures.delete(key);
    else this.#failures.set(key, { count: count - 1, last_ms: earlier_ms, earlier_ms });
  }

  #known(key: string): Failures | undefined {
    const known = this.#failures.get(key);
    return known && this.#clock.elapsed_ms() - known.last_ms < memory_ms ? known : undefined;
  }

  #wait_ms({ key, free, max_wait_ms }: FailureCounter): number {
    const known = this.#known(key);
    if (!known || known.count < free) return 0;
    const wait_ms = Math.min(1000 * 2 ** (known.count - free), max_wait_ms);
    return Math.max(0, known.last_ms + wait_ms - this.#clock.elapsed_ms());
  }
}

function countersOf({ name, address, browser }: LoginAttempt): FailureCounter[] {
  if (browser !== undefined) return [{ key: `browser ${browser}`, ...of_person }];
  const network = networkOf(address);
  return [
    // Names are chosen by clients, so they are cut before they are stored; those of customers are the same in any case.
    { key: `name ${network} ${name.slice(0, 128).toLowerCase()}`, ...of_person },
    { key: `address ${network}`, ...of_address },
  ];
}

/** Address to count by, without a port. Of IPv6 the first 64 bits, since one owner has all hosts of that network. */
function networkOf(address: string): string {
  const host = /^\[(.*)\](?::\d+)?$/.exec(address)?.[1] ?? address.replace(/^([\d.]+):\d+$/, '$1');
  if (!ipaddr.isValid(host)) return address.slice(0, 64);
  const parsed = ipaddr.process(host);
  if (parsed.kind() === 'ipv4') return parsed.toString();
  return (parsed as ipaddr.IPv6).parts
    .slice(0, 4)
    .map(part => part.toString(16))
    .join(':');
}
