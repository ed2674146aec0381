import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { type BulkheadPolicy, BulkheadRejectedError, bulkhead } from 'cockatiel';
import { hashPassword, isPassword } from '../../../src/plugin.ts';
import type { Person } from './roles.ts';

/** A person who may sign in by password. */
export interface Login {
  readonly person: Person;
  /** Of the password, as `hashPassword` makes it. */
  readonly hash: string;
  /** Changes with the password: a session ends then. */
  readonly credential: string;
}

/** Finds who may sign in by a name; undefined for a name that is unknown. */
export type FindLogin = (name: string) => Promise<Login | undefined>;

type Credential = { readonly password: string } | { readonly password_hash: string };

/** The logins of a configuration. Passwords in it are hashed here, once. */
export function configuredLogins<C extends Credential>(
  users: Readonly<Record<string, C>>,
  personOf: (name: string, user: C) => Person,
): FindLogin {
  const logins = new Map(
    Object.entries(users).map(([name, user]) => [name, configuredLogin(user, personOf(name, user))]),
  );
  return async name => logins.get(name);
}

async function configuredLogin(user: Credential, person: Person): Promise<Login> {
  if ('password_hash' in user) return { person, hash: user.password_hash, credential: user.password_hash };
  return { person, hash: await hashPassword(user.password), credential: user.password };
}

/** Longest queue for either kind of browser; each password takes 32 MiB and about 60 ms. */
const max_waiting = 20;

/** What a name was found to be. */
interface Candidate {
  readonly name: string;
  readonly login: Login | undefined;
  /** Id of a browser that has signed in with this name before, if it is one. */
  readonly browser: string | undefined;
}

/** Checks passwords, few at a time. */
export class Passwords {
  readonly #find: FindLogin;
  /** Compared with the passwords of unknown names, so that they take as long as known ones. */
  readonly #unknownHash = hashPassword(randomBytes(24).toString('base64url'));
  readonly #fromStrangers = bulkhead(2, max_waiting);
  /** Separate queue for known browsers, which a flood of passwords from others cannot fill. */
  readonly #fromKnownBrowsers = bulkhead(1, max_waiting);

  constructor(find: FindLogin) {
    this.#find = find;
  }

  /** Finds who signs in as `name` from the browser with this cookie. */
  async candidate(name: string, browserCookie: string | undefined): Promise<Candidate> {
    const login = await this.#find(name);
    const hash = login?.hash ?? (await this.#unknownHash);
    const known = login?.person.actor ?? name;
    const browser = browserCookie === undefined ? undefined : knownBrowserOf(browserCookie, known, hash);
    return { name, login, browser };
  }

  /** Compares a password, unless too many are being compared. Returns the login if it is right. */
  async check({ login, browser }: Candidate, password: string): Promise<Login | 'refused' | 'busy'> {
    const queue: BulkheadPolicy = browser === undefined ? this.#fromStrangers : this.#fromKnownBrowsers;
    try {
      const isRight = await queue.execute(async () =>
        isPassword(password, login?.hash ?? (await this.#unknownHash)),
      );
      return login && isRight ? login : 'refused';
    } catch (thrown) {
      if (thrown instanceof BulkheadRejectedError) return 'busy';
      throw thrown;
    }
  }

  /** The login of this name as it is now. */
  find(name: string): Promise<Login | undefined> {
    return this.#find(name);
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
