import type { IncomingMessage } from 'node:http';
import QuickLRU from 'quick-lru';
import { type ExtensionContext, hashKey, isAdminKeyForm, LoginThrottle } from '../../src/plugin.ts';
import { type ConfiguredAdminKey, digestOfAdminKey } from './admin-api-options.ts';
import { apiError } from './api-error.ts';
import type { Caller } from './route.ts';

/** A use is written at most this often. */
const max_unwritten_ms = 60_000;

/** A key as it is found by its digest. */
interface FoundKey extends Caller {
  readonly expires_ms: number | null;
  /** Of a key of the configuration it is not kept. */
  readonly last_used_ms?: number | null;
}

/** A caller, with the text of the key. */
export interface Authenticated extends Caller {
  readonly secret: string;
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
        return [digestOfAdminKey(key), { id: `configured ${name}`, name, role, expires_ms }];
      }),
    );
  }

  /** Who has sent a request from `address`. Throws 401, and 429 after too many wrong keys. */
  async callerOf({ headers }: IncomingMessage, address: string): Promise<Authenticated> {
    const [, secret] = /^Bearer +(\S+) *$/i.exec(headers.authorization ?? '') ?? [];
    if (secret === undefined) throw apiError('missing_api_key', challenge);
    const digest = hashKey(secret);
    const attempt = { name: '', address, browser: this.#accepted.has(digest) ? digest : undefined };
    const wait_ms = this.#throttle.wait_ms(attempt);
    if (wait_ms > 0) throw this.#refused('too_many_attempts', address, retryAfter(wait_ms));
    const found = await this.#find(secret, digest);
    // Not counted in advance: a program asks many things side by side, and no number of guesses finds a key.
    if (!found) {
      this.#throttle.failed(attempt);
      throw this.#refused('invalid_api_key', address, challenge);
    }
    this.#accepted.set(digest, true);
    await this.#used(found);
    const { id, name, role } = found;
    return { id, name, role, secret };
  }

  async #find(secret: string, digest: string): Promise<FoundKey | undefined> {
    const found = this.#configured.get(digest) ?? (await this.#stored(secret, digest));
    const now_ms = this.#context.clock.epoch_ms();
    return found && (found.expires_ms === null || found.expires_ms > now_ms) ? found : undefined;
  }

  async #stored(secret: string, digest: string): Promise<FoundKey | undefined> {
    if (!isAdminKeyForm(secret)) return undefined;
    const found = await this.#context.records.store.adminKeys?.lookUp(digest);
    return found?.revoked_ms === null ? found : undefined;
  }

  async #used({ id, last_used_ms }: FoundKey): Promise<void> {
    const now_ms = this.#context.clock.epoch_ms();
    if (last_used_ms === undefined || now_ms - (last_used_ms ?? 0) < max_unwritten_ms) return;
    await this.#context.records.store.adminKeys?.used(id, now_ms).catch(err => {
      this.#context.log.warn({ err }, 'failed to record the use of an admin key');
    });
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
