import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { localPage } from '../page-response.ts';

/** What begins a sign-in, and what its answer is checked against. */
export interface OidcProofs {
  readonly state: string;
  readonly nonce: string;
  /** Of PKCE. */
  readonly verifier: string;
}

const macOf = (token: string, what: string, text: string): string =>
  createHmac('sha256', token).update(`oidc ${what} ${text}`).digest('base64url');

/** What a sign-in that was begun with `text` must come back with. */
const proofsOf = (token: string, text: string): OidcProofs => ({
  state: `${text}.${macOf(token, 'state', text)}`,
  nonce: macOf(token, 'nonce', text),
  verifier: macOf(token, 'verifier', text),
});

/** New ones for a sign-in that leads to the page `next`. */
export function newProofs(token: string, next: string): OidcProofs {
  const salt = randomBytes(16).toString('base64url');
  return proofsOf(token, `${salt}.${Buffer.from(next).toString('base64url')}`);
}

/** What the browser with `token` began with this state; undefined if it did not. */
export function begunWith(token: string, state: string): { next: string; proofs: OidcProofs } | undefined {
  const [salt = '', page = ''] = state.split('.', 2);
  const proofs = proofsOf(token, `${salt}.${page}`);
  const [expected, given] = [Buffer.from(proofs.state), Buffer.from(state)];
  if (expected.length !== given.length || !timingSafeEqual(expected, given)) return undefined;
  return { next: localPage(Buffer.from(page, 'base64url').toString()), proofs };
}
