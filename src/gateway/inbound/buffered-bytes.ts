import type { BodyMetrics, BufferBound } from '../../telemetry/body-metrics.ts';
import { refusal } from '../exchange/errors.ts';
import type { Exchange } from '../exchange/exchange.ts';
import type { BufferLimits } from './buffer-limits.ts';

/** Key for all requests without an account; no account can have this name. */
const no_account = '';

/** A body that takes more is a large one. */
const small_bytes = 1024 * 1024;
/** What large bodies may take of a limit, so that small ones are served beside them. */
const large_share = 3 / 4;

/**
 * Limits the memory that request bodies take, in total and per account: their bytes from the arrival on, and what is made of them, to the end
 * of their exchange. Only while a body is parsed, or encoded for its upstream, there is one more copy of it; that happens to one body at a
 * time, and is not counted.
 */
export class BufferedBytes {
  #limits: BufferLimits;
  readonly #metrics: BodyMetrics;
  readonly #byAccount = new Map<string, number>();
  #total_bytes = 0;

  constructor(limits: BufferLimits, metrics: BodyMetrics) {
    this.#limits = limits;
    this.#metrics = metrics;
  }

  /** Replaces the limits; what is held stays. */
  configure(limits: BufferLimits): void {
    this.#limits = limits;
  }

  /** Throws `server_error` if a body of the exchange that takes `held_bytes` could not take `bytes` more. */
  check(exchange: Exchange, held_bytes: number, bytes: number): void {
    const share = held_bytes + bytes > small_bytes ? large_share : 1;
    const { total_bytes, account_bytes } = this.#limits;
    const own_bytes = (this.#byAccount.get(exchange.account?.id ?? no_account) ?? 0) + bytes;
    if (own_bytes > account_bytes * share)
      this.#refuse(exchange, 'account', `max_buffered_bytes_per_account: ${account_bytes}`);
    if (this.#total_bytes + bytes > total_bytes * share)
      this.#refuse(exchange, 'total', `max_buffered_bytes: ${total_bytes}`);
  }

  /** Adds to the count, or subtracts a negative number. */
  change(account: string, bytes: number): void {
    const own_bytes = (this.#byAccount.get(account) ?? 0) + bytes;
    if (own_bytes === 0) this.#byAccount.delete(account);
    else this.#byAccount.set(account, own_bytes);
    this.#total_bytes += bytes;
    this.#metrics.buffered.inc(bytes);
  }

  #refuse(exchange: Exchange, bound: BufferBound, limit: string): never {
    // Overload is not an internal error.
    exchange.end.causedBy('refused');
    this.#metrics.refused(bound);
    throw refusal('server_error', { cause: new Error(`request bodies have reached ${limit}`) });
  }
}

/** Counted memory of the body of one exchange, until its `release`. */
export class BufferedBody {
  readonly #all: BufferedBytes;
  readonly #exchange: Exchange;
  readonly #account: string;
  #bytes = 0;
  #encoded_bytes = 0;

  constructor(all: BufferedBytes, exchange: Exchange) {
    this.#all = all;
    this.#exchange = exchange;
    this.#account = exchange.account?.id ?? no_account;
  }

  /** Throws `server_error` if so many bytes more could not be held now. Counts nothing, since nothing has arrived. */
  expect(bytes: number): void {
    this.#all.check(this.#exchange, this.#bytes, bytes);
  }

  /** Counts bytes that have arrived or were decompressed. Throws `server_error` above a limit, without counting them. */
  add(bytes: number): void {
    this.hold(this.#bytes + bytes);
  }

  /**
   * Counts so many bytes instead of those so far, `encoded_bytes` of them for the copy that is sent upstream. Throws `server_error` if more
   * would exceed a limit, and changes nothing then.
   */
  hold(bytes: number, encoded_bytes = 0): void {
    const more_bytes = bytes - this.#bytes;
    if (more_bytes > 0) this.#all.check(this.#exchange, this.#bytes, more_bytes);
    this.#encoded_bytes = encoded_bytes;
    if (more_bytes === 0) return;
    this.#bytes = bytes;
    this.#all.change(this.#account, more_bytes);
  }

  /** Whether it is one of the large bodies. */
  get isLarge(): boolean {
    return this.#bytes > small_bytes;
  }

  /** Ends the count of the copy for the upstream, which is not needed again. Safe to call again. */
  sent(): void {
    this.hold(this.#bytes - this.#encoded_bytes);
  }

  /** Ends the count. Safe to call again. */
  release(): void {
    this.hold(0);
  }
}
