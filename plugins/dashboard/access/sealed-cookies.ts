import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { parseCookie } from 'cookie';
import { setCookie } from './cookies.ts';

const iv_bytes = 12;
const tag_bytes = 16;
/** The usual lifetime: the time between a form and the page that it leads to. */
const lifetime_s = 120;

interface Kept {
  /** Lifetime in seconds. */
  readonly maxAge: number;
  /** `lax` also comes along when another site leads here. */
  readonly sameSite: 'strict' | 'lax';
}

/**
 * Texts for the next page of the same browser, in cookies that only the session's token opens: no instance keeps them, and any can read
 * them.
 */
export class SealedCookies {
  readonly #key: Buffer;
  readonly #incoming: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #secure: boolean;

  constructor(token: string, incoming: IncomingMessage, response: ServerResponse, secure: boolean) {
    this.#key = createHash('sha256').update(`sealed cookies ${token}`).digest();
    this.#incoming = incoming;
    this.#response = response;
    this.#secure = secure;
  }

  /** Leaves `text` of at most 2 kB under `name`. */
  put(name: string, text: string, kept: Kept = { maxAge: lifetime_s, sameSite: 'strict' }): void {
    const iv = randomBytes(iv_bytes);
    const cipher = createCipheriv('aes-256-gcm', this.#key, iv).setAAD(Buffer.from(name));
    const sealed = Buffer.concat([iv, cipher.update(text, 'utf8'), cipher.final()]);
    const value = Buffer.concat([sealed, cipher.getAuthTag()]).toString('base64url');
    setCookie(this.#response, { name, value, secure: this.#secure, ...kept });
  }

  /** Leaves a text that is no secret under `name`, for later sessions as well. */
  putPlain(name: string, value: string, maxAge: number): void {
    setCookie(this.#response, { name, value, secure: this.#secure, maxAge });
  }

  /** The text under `name`, once: the browser forgets it. Undefined if there is none, or another session's. */
  take(name: string): string | undefined {
    const text = this.#read(name);
    if (text !== undefined) setCookie(this.#response, { name, value: '', secure: this.#secure, maxAge: 0 });
    return text;
  }

  #read(name: string): string | undefined {
    const sealed = Buffer.from(parseCookie(this.#incoming.headers.cookie ?? '')[name] ?? '', 'base64url');
    if (sealed.length < iv_bytes + tag_bytes) return undefined;
    const decipher = createDecipheriv('aes-256-gcm', this.#key, sealed.subarray(0, iv_bytes))
      .setAAD(Buffer.from(name))
      .setAuthTag(sealed.subarray(-tag_bytes));
    try {
      const text = decipher.update(sealed.subarray(iv_bytes, -tag_bytes));
      return Buffer.concat([text, decipher.final()]).toString('utf8');
    } catch {
      return undefined;
    }
  }
}
