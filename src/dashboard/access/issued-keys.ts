import { randomBytes } from 'node:crypto';
import { hashKey } from '../../stores/accounts/hash-key.ts';

/** The name of the hidden field of forms that issue a key. */
export const nonce_field = 'nonce';

/** A new value for that field, for each form that is shown. */
export const newNonce = (): string => randomBytes(16).toString('base64url');

/** A newly issued key, with its text. */
export interface IssuedKey {
  readonly id: string;
  readonly key: string;
}

interface Submission {
  /** Hash of the whole form, to tell a form that is sent twice from one that was changed in between. */
  readonly digest: string;
  readonly issued: Promise<IssuedKey>;
}

/** Forms, and secrets not yet shown, above which the oldest one is forgotten. */
const max_kept = 32;

/** The keys that one session has issued: one for each form however often it is sent, each shown once for each time it was sent. */
export class IssuedKeys {
  readonly #byNonce = new Map<string, Submission>();
  readonly #secrets = new Map<string, IssuedKey>();

  /**
   * Issues the key of a form, or waits for the one that the same form has issued. Returns its id and a token for `take`; `changed` if the
   * form was sent before with other content. A form whose key could not be issued may be sent again.
   */
  async submit(
    nonce: string,
    content: string,
    issue: () => Promise<IssuedKey>,
  ): Promise<{ readonly id: string; readonly show: string } | 'changed'> {
    const known = this.#byNonce.get(nonce);
    const digest = hashKey(content);
    if (known && known.digest !== digest) return 'changed';
    const submission = known ?? { digest, issued: issue() };
    if (!known) keep(this.#byNonce, nonce, submission);
    try {
      const issued = await submission.issued;
      const show = newNonce();
      keep(this.#secrets, show, issued);
      return { id: issued.id, show };
    } catch (thrown) {
      if (this.#byNonce.get(nonce) === submission) this.#byNonce.delete(nonce);
      throw thrown;
    }
  }

  /** The text of the key with this id, once for each `show`; undefined after that. */
  take(id: string, show: string): string | undefined {
    const issued = this.#secrets.get(show);
    if (issued?.id !== id) return undefined;
    this.#secrets.delete(show);
    return issued.key;
  }
}

function keep<V>(map: Map<string, V>, name: string, value: V): void {
  if (map.size >= max_kept) map.delete(map.keys().next().value!);
  map.set(name, value);
}
