import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { TLSSocket } from 'node:tls';
import type { OperatorOf } from '../gateway-options.ts';
import { within } from '../stores/within.ts';
import { cookieOf, FormTokens, isSameOrigin, setCookie, token_field } from './access/cookies.ts';
import { type LoginAttempt, LoginThrottle } from './access/login-throttle.ts';
import { Operators } from './access/operators.ts';
import { type Session, Sessions } from './access/sessions.ts';
import type { DashboardContext, DashboardRequest, SignedIn } from './page-request.ts';
import { htmlResponse, PageError, type PageResponse, redirect } from './page-response.ts';
import { readForm } from './read-form.ts';
import { reloadDocument, signInDocument } from './view/document.ts';

/** Time for a promise of `operatorOf`. */
const operator_ms = 10_000;
const session_cookie = 'sluice_session';
/** Cookie of the login form; separate from the session, so that showing the form ends no session. */
const sign_in_cookie = 'sluice_sign_in';
/** Cookie of a browser that has signed in before; gives no access by itself. */
const browser_cookie = 'sluice_browser';
const browser_cookie_s = 365 * 24 * 3600;

/** Page polled by the overview, which must not keep an unused session alive. */
const polled = 'overview-figures';

/** Checks sessions and the origin of forms, and signs in and out. */
export class SessionGuard {
  readonly #context: DashboardContext;
  readonly #operatorOf: OperatorOf | undefined;
  readonly #operators: Operators;
  readonly #sessions: Sessions;
  readonly #throttle: LoginThrottle;
  readonly #tokens = new FormTokens();

  constructor(context: DashboardContext, operatorOf: OperatorOf | undefined) {
    const { users, session_idle_ms, session_max_ms } = context.settings.admin;
    this.#context = context;
    this.#operatorOf = operatorOf;
    this.#operators = new Operators(users);
    this.#sessions = new Sessions(context.clock, { idle_ms: session_idle_ms, max_ms: session_max_ms });
    this.#throttle = new LoginThrottle(context.clock);
  }

  has(path: string): boolean {
    return path === 'sign-out' || (path === 'sign-in' && !this.#operatorOf);
  }

  async answer(request: DashboardRequest): Promise<PageResponse> {
    const isSignIn = request.path === 'sign-in';
    if (request.incoming.method === 'POST') return isSignIn ? this.#signIn(request) : this.#signOut(request);
    return isSignIn ? this.#signInForm(request, { next: request.query.get('next') ?? '' }) : redirect('.');
  }

  /** Returns the session of a request and its form, or a response that leads to the login. Throws a PageError for forms of other sites. */
  async enter(request: DashboardRequest, max_form_bytes?: number): Promise<SignedIn | PageResponse> {
    const { path, query, incoming } = request;
    const { method, headers } = incoming;
    const found = await this.#sessionOf(request);
    if (found) {
      const { token, session } = found;
      const form =
        method === 'POST' ? await this.#formOf(incoming, token, max_form_bytes) : new URLSearchParams();
      return { session, form, form_token: this.#tokens.of(token) };
    }
    if (headers['sec-fetch-dest'] === 'empty') throw new PageError(401, 'You are signed out.');
    // After a link from another site the browser may still be signed in: only requests of this site carry its cookie.
    if (headers['sec-fetch-site'] === 'cross-site' && method === 'GET')
      return htmlResponse(200, reloadDocument());
    if (path === '' || method !== 'GET') return redirect('sign-in');
    const next = query.size > 0 ? `${path}?${query}` : path;
    return redirect(`sign-in?${new URLSearchParams({ next })}`);
  }

  async #sessionOf(request: DashboardRequest): Promise<{ token: string; session: Session } | undefined> {
    const { path, incoming } = request;
    const token = cookieOf(incoming, session_cookie) ?? '';
    const session = path === polled ? this.#sessions.look(token) : this.#sessions.find(token);
    if (!this.#operatorOf) return session && { token, session };
    const answer = Promise.resolve(this.#operatorOf(incoming));
    const actor: unknown = await within(answer, operator_ms, () => new Error('operatorOf did not settle'));
    if (typeof actor !== 'string' || actor === '')
      throw new PageError(403, 'You may not use this dashboard.', 'Sign in where it is mounted.');
    return session?.actor === actor ? { token, session } : this.#startSession(request, actor);
  }

  #startSession(request: DashboardRequest, actor: string) {
    const started = this.#sessions.start(actor);
    this.#setCookie(request, session_cookie, started.token);
    return started;
  }

  async #formOf(request: IncomingMessage, token: string, max_bytes?: number): Promise<URLSearchParams> {
    const again = 'Go back, load the page again, and send it once more.';
    if (!isSameOrigin(request)) throw new PageError(403, 'This form was not sent by the dashboard.', again);
    const form = await readForm(request, max_bytes);
    if (!this.#tokens.accepts(token, form.get(token_field)))
      throw new PageError(403, 'This form has expired, or was not made for you.', again);
    return form;
  }

  #signInForm(
    request: DashboardRequest,
    given: { next: string; name?: string; fault?: string },
    status = 200,
  ): PageResponse {
    let token = cookieOf(request.incoming, sign_in_cookie);
    if (token === undefined) {
      token = randomBytes(32).toString('base64url');
      this.#setCookie(request, sign_in_cookie, token);
    }
    return htmlResponse(status, signInDocument({ ...given, form_token: this.#tokens.of(token) }));
  }

  async #signIn(request: DashboardRequest): Promise<PageResponse> {
    const { incoming } = request;
    const form = await this.#formOf(incoming, cookieOf(incoming, sign_in_cookie) ?? '');
    const [name, password] = [form.get('name') ?? '', form.get('password') ?? ''];
    const next = localPage(form.get('next'));
    const address = this.#addressOf(incoming);
    const browser = await this.#operators.knownBrowser(name, cookieOf(incoming, browser_cookie));
    const attempt: LoginAttempt = { name, address, browser };
    const wait_ms = this.#throttle.wait_ms(attempt);
    const outcome = wait_ms > 0 ? 'throttled' : await this.#tried(attempt, password);
    if (outcome === 'accepted') {
      await this.#signedIn(request, attempt);
      return redirect(next);
    }
    this.#context.log.warn({ operator: name.slice(0, 128), address, outcome, wait_ms }, 'sign-in refused');
    if (outcome === 'refused') {
      const fault = 'That name and password do not belong together.';
      return this.#signInForm(request, { next, name, fault }, 401);
    }
    const seconds = Math.max(1, Math.ceil(wait_ms / 1000));
    const fault = `Too many attempts. Try again in ${seconds} ${seconds === 1 ? 'second' : 'seconds'}.`;
    const answer = this.#signInForm(request, { next, name, fault }, 429);
    return { ...answer, headers: { ...answer.headers, 'retry-after': String(seconds) } };
  }

  async #signedIn(request: DashboardRequest, { name, address, browser }: LoginAttempt): Promise<void> {
    this.#sessions.end(cookieOf(request.incoming, session_cookie) ?? '');
    this.#startSession(request, name);
    if (browser === undefined) {
      const known = await this.#operators.newBrowserCookie(name);
      this.#setCookie(request, browser_cookie, known, browser_cookie_s);
    }
    this.#context.log.info({ operator: name, address }, 'operator signed in');
  }

  async #tried(attempt: LoginAttempt, password: string) {
    // Counted in advance; otherwise parallel attempts would bypass the limit.
    this.#throttle.failed(attempt);
    const outcome = await this.#operators.check(attempt.name, password, attempt.browser);
    if (outcome === 'busy') this.#throttle.undone(attempt);
    if (outcome === 'accepted') this.#throttle.succeeded(attempt);
    return outcome;
  }

  async #signOut(request: DashboardRequest): Promise<PageResponse> {
    const token = cookieOf(request.incoming, session_cookie) ?? '';
    if (this.#sessions.find(token)) {
      await this.#formOf(request.incoming, token);
      this.#sessions.end(token);
    }
    this.#setCookie(request, session_cookie, '', 0);
    return redirect(this.#operatorOf ? '.' : 'sign-in');
  }

  /** `max_age_s` 0 removes the cookie. */
  #setCookie(
    { incoming, response }: DashboardRequest,
    name: string,
    value: string,
    max_age_s?: number,
  ): void {
    const secure = this.#isSecure(incoming);
    setCookie(response, { name, value, secure, ...(max_age_s !== undefined && { maxAge: max_age_s }) });
  }

  #isSecure(request: IncomingMessage & { secure?: boolean }): boolean {
    if ((request.socket as TLSSocket).encrypted || request.secure === true) return true;
    return this.#context.settings.admin.trust_proxy && lastOf(request, 'x-forwarded-proto') === 'https';
  }

  #addressOf(request: IncomingMessage): string {
    const { trust_proxy } = this.#context.settings.admin;
    const forwarded = trust_proxy ? lastOf(request, 'x-forwarded-for') : undefined;
    return forwarded ?? request.socket.remoteAddress ?? '';
  }
}

/** Last value of a header: the one that the nearest proxy has added. */
function lastOf({ headers }: IncomingMessage, name: string): string | undefined {
  return [headers[name]].flat().join(',').split(',').at(-1)?.trim() || undefined;
}

/** Page to open after login: always one of the dashboard, never an external one. */
const localPage = (next: string | null): string =>
  next && /^[a-z][a-z-]*(\?[!"$-[\]-~]*)?$/.test(next) ? next : '.';
