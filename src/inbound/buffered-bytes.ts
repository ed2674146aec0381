import { refusal } from '../errors.ts';
import type { Exchange } from '../exchange.ts';
import type { BodyMetrics, BufferBound } from '../telemetry/body-metrics.ts';
import type { BodyLimits } from './body-limits.ts';

type BufferLimits = Pick<BodyLimits, 'max_buffered_bytes' | 'max_buffered_bytes_per_account'>;

/** Key for all requests without an account; no account can have this name. */
const no_account = '';
const accountOf = ({ account }: Exchange): string => account?.id ?? no_account;

/**
 * Limits the bytes of request bodies in memory, in total and per account. Bytes count from their arrival to the end of their exchange:
 * until then the parsed request is kept for further attempts.
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

  /** Starts counting the body of one exchange; its `release` ends that. */
  open(exchange: Exchange): BufferedBody {
    return new BufferedBody(this, exchange);
  }

  /** Throws `server_error` if `bytes` more for the exchange's account would exceed a limit. */
  check(exchange: Exchange, bytes: number): void {
    const account = accountOf(exchange);
    const { max_buffered_bytes, max_buffered_bytes_per_account } = this.#limits;
    const own_bytes = (this.#byAccount.get(account) ?? 0) + bytes;
    if (own_bytes > max_buffered_bytes_per_account)
      this.#refuse(exchange, 'account', `max_buffered_bytes_per_account: ${max_buffered_bytes_per_account}`);
    if (this.#total_bytes + bytes > max_buffered_bytes)
      this.#refuse(exchange, 'total', `max_buffered_bytes: ${max_buffered_bytes}`);
  }

  /** Adds to the count, or subtracts a negative number. */
  change(account: string, bytes: number): void {
    const own_bytes = (this.#byAccount.get(account) ?? 0) + bytes;
    if (own_bytes === 0) this.#byAccount.delete(account);
    else this.#byAccount.set(account, own_bytes);
    this.#total_bytes += bytes;
    this.#metrics.buffered(bytes);
  }

  #refuse(exchange: Exchange, bound: BufferBound, limit: string): never {
    // Overload is not an internal error.
    exchange.end.causedBy('refused');
    this.#metrics.refused(bound);
    throw refusal('server_error', { cause: new Error(`request bodies have reached ${limit}`) });
  }
}

/** Counted bytes of one exchange. */
export class BufferedBody {
  readonly #all: BufferedBytes;
  readonly #exchange: Exchange;
  readonly #account: string;
  #bytes = 0;

  constructor(all: BufferedBytes, exchange: Exchange) {
    this.#all = all;
    this.#exchange = exchange;
    this.#account = accountOf(exchange);
  }

  /** Throws `server_error` if a body of that size could not be held now. Counts nothing, since nothing has arrived. */
  expect(bytes: number): void {
    this.#all.check(this.#exchange, bytes);
  }

  /** Counts bytes that have arrived or were decompressed. Throws `server_error` above a limit, without counting them. */
  add(bytes: number): void {
    this.#all.check(this.#exchange, bytes);
    this.#bytes += bytes;
    this.#all.change(this.#account, bytes);
  }

  /** Stops counting bytes, such as those that have been decompressed. */
  drop(bytes: number): void {
    this.#bytes -= bytes;
    this.#all.change(this.#account, -bytes);
  }

  /** Ends the count. Safe to call again. */
  release(): void {
    if (this.#bytes > 0) this.drop(this.#bytes);
  }
}
