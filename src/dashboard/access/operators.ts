import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { type BulkheadPolicy, BulkheadRejectedError, bulkhead } from 'cockatiel';
import { hashPassword, isPassword } from '../../stores/accounts/password.ts';

/** Credential of a configured operator. */
export type Credential = { readonly password: string } | { readonly password_hash: string };

/** Longest queue for either kind of browser; each password takes 32 MiB and about 60 ms. */
const max_waiting = 20;

/** Operators by name. Only hashes of their passwords are kept. */
export class Operators {
  readonly #hashes: ReadonlyMap<string, Promise<string>>;
  /** Compared with the passwords of unknown names, so that they take as long as known ones. */
  readonly #unknownHash = hashPassword(randomBytes(24).toString('base64url'));
  readonly #fromStrangers = bulkhead(2, max_waiting);
  /** Separate queue for known browsers, which a flood of passwords from others cannot fill. */
  readonly #fromKnownBrowsers = bulkhead(1, max_waiting);

  constructor(credentials: Readonly<Record<string, Credential>>) {
    this.#hashes = new Map(
      Object.entries(credentials).map(([name, given]) => [
        name,
        'password' in given ? hashPassword(given.password) : Promise.resolve(given.password_hash),
      ]),
    );
  }

  /** Compares `password` with that of `name`, unless too many are being compared; `browser` is the id of a known one. */
  async check(
    name: string,
    password: string,
    browser: string | undefined,
  ): Promise<'accepted' | 'refused' | 'busy'> {
    const queue: BulkheadPolicy = browser === undefined ? this.#fromStrangers : this.#fromKnownBrowsers;
    try {
      const isRight = await queue.execute(async () => isPassword(password, await this.#hashOf(name)));
      return isRight && this.#hashes.has(name) ? 'accepted' : 'refused';
    } catch (thrown) {
      if (thrown instanceof BulkheadRejectedError) return 'busy';
      throw thrown;
    }
  }

  /** Creates a cookie that identifies a browser which has signed in with `name`. */
  async newBrowserCookie(name: string): Promise<string> {
    return knownBrowserCookie(name, await this.#hashOf(name));
  }

  /** Id of a browser that has signed in with `name` before, or undefined. */
  async knownBrowser(name: string, cookie: string | undefined): Promise<string | undefined> {
    return cookie === undefined ? undefined : knownBrowserOf(cookie, name, await this.#hashOf(name));
  }

  #hashOf(name: string): Promise<string> {
    return this.#hashes.get(name) ?? this.#unknownHash;
  }
}

const id_bytes = 12;
const mac_bytes = 20;

/**
 * Cookie of a browser that has signed in: an id and a signature that only an operator's password hash can make, 43 characters in base64url.
 * It gives no access; it only counts this browser's failures apart from those of strangers. A new password invalidates it.
 */
export function knownBrowserCookie(name: string, password_hash: string): string {
  const id = randomBytes(id_bytes);
  return Buffer.concat([id, signatureOf(id, name, password_hash)]).toString('base64url');
}

/** Id in a cookie made for this operator; undefined for any other. */
export function knownBrowserOf(cookie: string, name: string, password_hash: string): string | undefined {
  const bytes = Buffer.from(cookie, 'base64url');
  if (bytes.length !== id_bytes + mac_bytes) return undefined;
  const id = bytes.subarray(0, id_bytes);
  const isGenuine = timingSafeEqual(bytes.subarray(id_bytes), signatureOf(id, name, password_hash));
  return isGenuine ? id.toString('base64url') : undefined;
}

const signatureOf = (id: Buffer, name: string, password_hash: string): Buffer =>
  createHmac('sha256', password_hash).update(id).update(name).digest().subarray(0, mac_bytes);
