import type { Charge, Limit, LimitName } from '../state-store.ts';

/** How the scripts count under a limit, and what of a charge. */
export interface Counted {
  readonly kind: 'minute' | 'day' | 'month' | 'running';
  readonly unit: keyof Charge | 'lease';
}

export const counted: Readonly<Record<LimitName, Counted>> = {
  requests_per_minute: { kind: 'minute', unit: 'requests' },
  tokens_per_minute: { kind: 'minute', unit: 'tokens' },
  tokens_per_day: { kind: 'day', unit: 'tokens' },
  concurrent_requests: { kind: 'running', unit: 'lease' },
  usd_per_month: { kind: 'month', unit: 'nano_usd' },
};

/** What of a charge counts under `limit`; a lease is one. */
export function amountOf({ name }: Limit, charge: Charge): number {
  const { unit } = counted[name];
  return unit === 'lease' ? 1 : charge[unit];
}

/** A brace of its own would end the tag, and an empty one would be none. */
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

  ofLimit(account: string, { name, model }: Limit): string {
    return `${this.#account(account)}:${model === undefined ? name : `${name}:${model}`}`;
  }

  /** The reservation, then the counters of `limits`. */
  ofReservation(account: string, id: string, limits: readonly Limit[]): string[] {
    const begin = this.#account(account);
    const keys = [`${begin}:reservation:${id}`];
    for (const { name, model } of limits)
      keys.push(model === undefined ? `${begin}:${name}` : `${begin}:${name}:${model}`);
    return keys;
  }

  #account(account: string): string {
    return `${this.#prefix}{${tagOf(account)}}`;
  }
}
