import { randomBytes } from 'node:crypto';
import { hashKey } from '../../../src/plugin.ts';

/** The name of the hidden field of forms that issue a key. */
export const nonce_field = 'nonce';

/** A new value for that field, for each form that is shown. */
export const newNonce = (): string => randomBytes(16).toString('base64url');

/** A newly issued key, with its text. */
interface IssuedKey {
  readonly id: string;
  readonly key: string;
}

interface Submission {
  /** Hash of the whole form, to tell a form that is sent twice from one that was changed in between. */
  readonly digest: string;
  readonly issued: Promise<IssuedKey>;
}

/** Forms above which the oldest one is forgotten. */
const max_kept = 32;

/** The keys that this process has issued in one session: one for each form, however often it is sent. */
export class IssuedKeys {
  readonly #byNonce = new Map<string, Submission>();

  /**
   * Issues the key of a form, or waits for the one that the same form has issued. Returns `changed` if the
   * form was sent before with other content. A form whose key could not be issued may be sent again.
   */
  async submit(
    nonce: string,
    content: string,
    issue: () => Promise<IssuedKey>,
  ): Promise<IssuedKey | 'changed'> {
    const known = this.#byNonce.get(nonce);
    const digest = hashKey(content);
    if (known && known.digest !== digest) return 'changed';
    const submission = known ?? { digest, issued: issue() };
    if (!known) keep(this.#byNonce, nonce, submission);
    try {
      return await submission.issued;
    } catch (thrown) {
      if (this.#byNonce.get(nonce) === submission) this.#byNonce.delete(nonce);
      throw thrown;
    }
  }
}

function keep<V>(map: Map<string, V>, name: string, value: V): void {
  if (map.size >= max_kept) map.delete(map.keys().next().value!);
  map.set(name, value);
}
