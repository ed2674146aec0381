import type { DashboardRequest } from '../page-request.ts';
import type { PageResponse } from '../page-response.ts';
import type { Login } from './passwords.ts';

/** A page for those who are not signed in, by which they may be. */
export interface Entrance {
  /** Path below the mount. */
  readonly name: string;
  answer(request: DashboardRequest, door: Door): Promise<PageResponse>;
}

/** What an entrance needs to sign a person in. */
export interface Door {
  /** CSRF token for its form; its cookie is another than the session's, so that showing the form ends no session. */
  formToken(request: DashboardRequest): string;
  /** Reads its form. Rejects with a PageError for forms of other sites. */
  readForm(request: DashboardRequest): Promise<URLSearchParams>;
  /** Starts a session in place of the browser's, and records it in the audit log. Returns its token. */
  signIn(request: DashboardRequest, login: Pick<Login, 'person' | 'credential'>): Promise<string>;
  /** The browser's network address. */
  addressOf(request: DashboardRequest): string;
}
