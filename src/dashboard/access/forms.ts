import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

/** The name of the hidden field that every form has. */
export const token_field = 'form_token';

/** CSRF tokens for the forms of this process. */
export class FormTokens {
  readonly #secret = randomBytes(32);

  /** Token for a form shown to the browser with `cookie`. */
  of(cookie: string): string {
    return createHmac('sha256', this.#secret).update(cookie).digest('base64url');
  }

  accepts(cookie: string, given: string | null): boolean {
    const [expected, actual] = [Buffer.from(this.of(cookie)), Buffer.from(given ?? '')];
    return expected.length === actual.length && timingSafeEqual(expected, actual);
  }
}

/**
 * Whether a form was sent by a page of this host: by `Sec-Fetch-Site`, which browsers send on connections that they trust, otherwise by
 * `Origin`.
 */
export function isSameOrigin({ headers }: IncomingMessage): boolean {
  const { origin, host } = headers;
  const site = headers['sec-fetch-site'];
  if (site !== undefined) return site === 'same-origin';
  return origin !== undefined && URL.canParse(origin) && new URL(origin).host === host?.toLowerCase();
}
