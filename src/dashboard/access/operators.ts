import { randomBytes } from 'node:crypto';
import { type BulkheadPolicy, BulkheadRejectedError, bulkhead } from 'cockatiel';
import { hashPassword, isPassword } from '../../stores/accounts/password.ts';
import { knownBrowserCookie, knownBrowserOf } from './known-browser.ts';

/** Credential of a configured operator. */
export type Credential = { readonly password: string } | { readonly password_hash: string };

/** Longest queue for either kind of browser; each password takes 32 MiB and about 60 ms. */
const max_waiting = 20;

/** Thrown when too many passwords are being checked. */
export class Busy extends Error {
  override readonly name = 'Busy';
}

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

  /** Whether `password` is that of `name`; `browser` is the id of a known one. Throws Busy. */
  async accept(name: string, password: string, browser: string | undefined): Promise<boolean> {
    const queue: BulkheadPolicy = browser === undefined ? this.#fromStrangers : this.#fromKnownBrowsers;
    const hash = this.#hashes.get(name);
    try {
      const isRight = await queue.execute(async () =>
        isPassword(password, await (hash ?? this.#unknownHash)),
      );
      return isRight && hash !== undefined;
    } catch (thrown) {
      if (thrown instanceof BulkheadRejectedError) throw new Busy('too many passwords are being tried');
      throw thrown;
    }
  }

  /** Creates a cookie that identifies a browser which has signed in with `name`. */
  async newBrowserCookie(name: string): Promise<string> {
    return knownBrowserCookie(name, await (this.#hashes.get(name) ?? this.#unknownHash));
  }

  /** Id of a browser that has signed in with `name` before, or undefined. */
  async knownBrowser(name: string, cookie: string | undefined): Promise<string | undefined> {
    if (cookie === undefined) return undefined;
    return knownBrowserOf(cookie, name, await (this.#hashes.get(name) ?? this.#unknownHash));
  }
}
