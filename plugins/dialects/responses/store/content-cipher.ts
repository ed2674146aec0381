import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from 'node:crypto';

const algorithm = 'aes-256-gcm';
const nonce_bytes = 12;
const tag_bytes = 16;
/** Version of the form. */
const version = '1';

/** Encrypts texts with AES-256-GCM under the first of several secrets, and decrypts them under any. */
export class ContentCipher {
  readonly #keys: ReadonlyMap<string, Buffer>;
  readonly #first: string;

  constructor(secrets: readonly string[]) {
    this.#keys = new Map(secrets.map(keyOf));
    [this.#first] = this.#keys.keys() as Iterable<string> as [string];
  }

  /** `bound` is needed to decrypt it, so that a text in another's place is not taken for it. */
  encrypt(text: string, bound: string): string {
    const nonce = randomBytes(nonce_bytes);
    const cipher = createCipheriv(algorithm, this.#keys.get(this.#first)!, nonce).setAAD(Buffer.from(bound));
    const parts = [nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()];
    return `${version}.${this.#first}.${Buffer.concat(parts).toString('base64')}`;
  }

  /** The text; undefined if it was changed, bound to something else, or encrypted under another secret. */
  decrypt(content: string, bound: string): string | undefined {
    const [form, name = '', encoded = ''] = content.split('.');
    const key = this.#keys.get(name);
    const bytes = Buffer.from(encoded, 'base64');
    if (form !== version || !key || bytes.length < nonce_bytes + tag_bytes) return undefined;
    const end = bytes.length - tag_bytes;
    const decipher = createDecipheriv(algorithm, key, bytes.subarray(0, nonce_bytes))
      .setAAD(Buffer.from(bound))
      .setAuthTag(bytes.subarray(end));
    try {
      return Buffer.concat([decipher.update(bytes.subarray(nonce_bytes, end)), decipher.final()]).toString();
    } catch {
      return undefined;
    }
  }
}

/** The key that a secret stands for, by a name that says nothing of it. */
function keyOf(secret: string): [name: string, key: Buffer] {
  const key = Buffer.from(hkdfSync('sha256', secret, '', 'sluice stored responses', 32));
  return [createHash('sha256').update(key).digest('hex').slice(0, 8), key];
}
