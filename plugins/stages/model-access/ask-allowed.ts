import { type Account, type CacheStore, refusal } from '../../../src/plugin.ts';

/** Returns the models that an account may use; of requests without an account where it is undefined. */
export type Allowed = (
  account: { readonly id: string; readonly plan?: string | undefined } | undefined,
) => readonly string[] | Promise<readonly string[]>;

const limit_ms = 5000;

/**
 * Asks `allowed` for an account's models, and remembers the answer. Rejects with `server_error` where it fails, does not answer within 5 s
 * or answers with anything but names: an account whose models are not known may use none.
 */
export function askAllowed(allowed: Allowed, ttl_ms: number, cache: CacheStore) {
  return async (account: Account | undefined): Promise<readonly string[]> => {
    const key = JSON.stringify([account?.id, account?.plan]);
    const known = await cache.get(key);
    try {
      if (known !== undefined) return namesIn(JSON.parse(known));
      const models = namesIn(await inTime(allowed(account)));
      void cache.set(key, JSON.stringify(models), ttl_ms);
      return models;
    } catch (cause) {
      throw refusal('server_error', { cause });
    }
  };
}

function namesIn(answer: unknown): readonly string[] {
  if (Array.isArray(answer) && answer.every(name => typeof name === 'string')) return answer;
  throw new Error('model-access: allowed must return an array of model ids');
}

function inTime<T>(work: T | Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>();
  const fault = new Error(`model-access: allowed has not answered within ${limit_ms} ms`);
  const timer = setTimeout(() => late.reject(fault), limit_ms);
  return Promise.race([work, late.promise]).finally(() => clearTimeout(timer));
}
