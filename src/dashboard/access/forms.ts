import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

/** The name of the hidden field that every form has. */
export const token_field = 'form_token';

/** Distinguishes the forms of this process from those of others. */
export class FormTokens {
  readonly #secret = randomBytes(32);

  /** What a form carries that was shown to the browser which holds `cookie`. */
  of(cookie: string): string {
    return createHmac('sha256', this.#secret).update(cookie).digest('base64url');
  }

  accepts(cookie: string, given: string | null): boolean {
    const [expected, actual] = [Buffer.from(this.of(cookie)), Buffer.from(given ?? '')];
    return expected.length === actual.length && timingSafeEqual(expected, actual);
  }
}

/**
 * Whether a form was sent by a page of this host. Browsers say so themselves on connections that they trust; on others they say where the
 * form comes from.
 */
export function isSameOrigin({ headers }: IncomingMessage): boolean {
  const { origin, host } = headers;
  const site = headers['sec-fetch-site'];
  if (site !== undefined) return site === 'same-origin';
  return origin !== undefined && URL.canParse(origin) && new URL(origin).host === host?.toLowerCase();
}
