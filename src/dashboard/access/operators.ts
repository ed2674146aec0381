import { randomBytes } from 'node:crypto';
import { hashPassword, isPassword } from '../../stores/password.ts';

/** How somebody of the configuration signs in. */
export type Credential = { readonly password: string } | { readonly password_hash: string };

/** How many passwords are tried at the same time, and how many may wait: each takes memory and time of its own. */
const at_once = 2;
const max_waiting = 20;

/** Too many passwords are being tried. */
export class Busy extends Error {
  override readonly name = 'Busy';
}

/** Who may sign in. Of passwords only hashes are kept. */
export class Operators {
  readonly #hashes: ReadonlyMap<string, Promise<string>>;
  /** What unknown names are compared with, so that they take as long as known ones. */
  readonly #nobody = hashPassword(randomBytes(24).toString('base64url'));
  readonly #queue: (() => void)[] = [];
  #running = 0;

  constructor(credentials: Readonly<Record<string, Credential>>) {
    this.#hashes = new Map(
      Object.entries(credentials).map(([name, given]) => [
        name,
        'password' in given ? hashPassword(given.password) : Promise.resolve(given.password_hash),
      ]),
    );
  }

  /** Whether `password` is that of `name`. Throws Busy. */
  async accept(name: string, password: string): Promise<boolean> {
    await this.#turn();
    try {
      const hash = this.#hashes.get(name);
      const isRight = await isPassword(password, await (hash ?? this.#nobody));
      return isRight && hash !== undefined;
    } finally {
      this.#running--;
      this.#queue.shift()?.();
    }
  }

  async #turn(): Promise<void> {
    if (this.#running >= at_once) {
      if (this.#queue.length >= max_waiting) throw new Busy('too many passwords are being tried');
      await new Promise<void>(resolve => this.#queue.push(resolve));
    }
    this.#running++;
  }
}
