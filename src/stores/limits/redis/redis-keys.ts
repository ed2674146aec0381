import { counterKey, type Limit } from '../limit-table.ts';

/** Braces inside would end the hash tag, and an empty tag would be none. */
function tagOf(account: string): string {
  if (account === '') return '%';
  return /[{}%]/.test(account) ? encodeURIComponent(account.toWellFormed()) : account;
}

/**
 * The names of keys: `PREFIX{ACCOUNT}:LIMIT`, `PREFIX{ACCOUNT}:LIMIT:MODEL`, `PREFIX{ACCOUNT}:reservation:ID`, `PREFIXinstances`. What stands in
 * braces decides the slot of a cluster, so that all keys of an account are together.
 */
export class Keys {
  readonly instances: string;
  readonly #prefix: string;

  constructor(prefix: string) {
    this.#prefix = prefix;
    this.instances = `${prefix}instances`;
  }

  ofLimit(account: string, limit: Limit): string {
    return `${this.#account(account)}:${counterKey(limit)}`;
  }

  /** The reservation, then the counters of `limits`. */
  ofReservation(account: string, id: string, limits: readonly Limit[]): string[] {
    const begin = this.#account(account);
    return [`${begin}:reservation:${id}`, ...limits.map(limit => `${begin}:${counterKey(limit)}`)];
  }

  #account(account: string): string {
    return `${this.#prefix}{${tagOf(account)}}`;
  }
}
