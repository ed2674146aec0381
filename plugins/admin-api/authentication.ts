import type { IncomingMessage } from 'node:http';
import QuickLRU from 'quick-lru';
import { type ExtensionContext, hashKey, LoginThrottle } from '../../src/plugin.ts';
import { type ConfiguredAdminKey, digestOfAdminKey } from './admin-api-options.ts';
import { apiError } from './api-error.ts';
import type { Caller } from './route.ts';

const max_key_characters = 512;

/** A key as it is found by its digest. */
interface FoundKey extends Caller {
  readonly expires_ms: number | null;
}

/** Knows who asks by the key in `Authorization`. What is wrong with a key is never said, and guesses are slowed down by their address. */
export class Authentication {
  readonly #context: ExtensionContext;
  readonly #throttle: LoginThrottle;
  /** Digests of keys that were right at this instance: others at their address do not lock them out. */
  readonly #accepted = new QuickLRU<string, true>({ maxSize: 1000 });
  #configured: ReadonlyMap<string, FoundKey> = new Map();

  constructor(context: ExtensionContext, keys: readonly ConfiguredAdminKey[]) {
    this.#context = context;
    this.#throttle = new LoginThrottle(context.clock);
    this.configure(keys);
  }

  configure(keys: readonly ConfiguredAdminKey[]): void {
    this.#configured = new Map(
      keys.map(key => {
        const { name, role, expires } = key;
        const expires_ms = expires === undefined ? null : Date.parse(expires);
        return [digestOfAdminKey(key), { name, role, expires_ms }];
      }),
    );
  }

  /** Who has sent a request from `address`. Throws 401, and 429 after too many wrong keys. */
  async callerOf({ headers }: IncomingMessage, address: string): Promise<Caller> {
    const [, key] = /^Bearer +(\S+) *$/i.exec(headers.authorization ?? '') ?? [];
    if (key === undefined) throw apiError('missing_api_key', challenge);
    const digest = hashKey(key);
    const attempt = { name: '', address, browser: this.#accepted.has(digest) ? digest : undefined };
    const wait_ms = this.#throttle.wait_ms(attempt);
    if (wait_ms > 0) throw this.#refused('too_many_attempts', address, retryAfter(wait_ms));
    // Counted in advance; otherwise parallel attempts would bypass the limit.
    this.#throttle.failed(attempt);
    const found = key.length <= max_key_characters ? await this.#find(digest) : undefined;
    if (!found) throw this.#refused('invalid_api_key', address, challenge);
    this.#throttle.succeeded(attempt);
    this.#accepted.set(digest, true);
    return found;
  }

  async #find(digest: string): Promise<Caller | undefined> {
    const found = this.#configured.get(digest);
    if (!found) return undefined;
    const { name, role, expires_ms } = found;
    return expires_ms === null || expires_ms > this.#context.clock.epoch_ms() ? { name, role } : undefined;
  }

  #refused(
    code: 'too_many_attempts' | 'invalid_api_key',
    address: string,
    detail: { readonly headers: Readonly<Record<string, string>> },
  ) {
    this.#context.log.warn({ address, outcome: code }, 'a request to the Admin API was refused');
    return apiError(code, detail);
  }
}

const challenge = { headers: { 'www-authenticate': 'Bearer realm="admin-api"' } };

const retryAfter = (wait_ms: number) => ({ headers: { 'retry-after': String(Math.ceil(wait_ms / 1000)) } });
