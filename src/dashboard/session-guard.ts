import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { TLSSocket } from 'node:tls';
import { cookieOf, setCookie } from './access/cookies.ts';
import { FormTokens, isSameOrigin, token_field } from './access/forms.ts';
import { type LoginAttempt, LoginThrottle } from './access/login-throttle.ts';
import { Busy, Operators } from './access/operators.ts';
import { type Session, Sessions } from './access/sessions.ts';
import type { DashboardContext } from './dashboard-context.ts';
import { PageError } from './page-error.ts';
import type { DashboardRequest, SignedIn } from './page-request.ts';
import { htmlResponse, type PageResponse, redirect } from './page-response.ts';
import { readForm } from './read-form.ts';
import { reloadPage } from './view/reload-page.ts';
import { signInPage } from './view/sign-in-page.ts';

/** Returns the operator's name of a request, from the parent application's own login; `undefined` denies access. */
export type OperatorOf = (request: IncomingMessage) => string | undefined;

const session_cookie = 'sluice_session';
/** Cookie of the login form; separate from the session, so that showing the form ends no session. */
const sign_in_cookie = 'sluice_sign_in';
/** Cookie of a browser that has signed in before; gives no access by itself. */
const browser_cookie = 'sluice_browser';
const browser_cookie_s = 365 * 24 * 3600;

/** Paths polled by open pages, which must not keep an unused session alive. */
const polled = /^\/overview-figures(\?|$)/;

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
    const { path, query, incoming, response } = request;
    if (incoming.method === 'POST')
      return path === 'sign-in' ? this.#signIn(incoming, response) : this.#signOut(incoming, response);
    if (path === 'sign-out') return redirect('.');
    return this.#signInForm(incoming, response, { next: query.get('next') ?? '' });
  }

  /** Returns the session of a request and its form, or a response that leads to the login. Throws a PageError for forms of other sites. */
  async enter(
    { path, query, incoming: request, response }: DashboardRequest,
    max_form_bytes?: number,
  ): Promise<SignedIn | PageResponse> {
    const found = this.#sessionOf(request, response);
    if (!found) {
      const { 'sec-fetch-dest': wanted_for, 'sec-fetch-site': from } = request.headers;
      if (wanted_for === 'empty') throw new PageError(401, 'You are signed out.');
      // After a link from another site the browser may still be signed in: only requests of this site carry its cookie.
      if (from === 'cross-site' && request.method === 'GET') return htmlResponse(200, reloadPage());
      const next =
        path === '' || request.method !== 'GET' ? '' : `${path}${query.size > 0 ? `?${query}` : ''}`;
      return redirect(next === '' ? 'sign-in' : `sign-in?${new URLSearchParams({ next })}`);
    }
    const { token, session } = found;
    const form =
      request.method === 'POST' ? await this.#formOf(request, token, max_form_bytes) : new URLSearchParams();
    return { session, form, form_token: this.#tokens.of(token) };
  }

  #sessionOf(request: IncomingMessage, response: ServerResponse) {
    const token = cookieOf(request, session_cookie);
    const session = token === undefined ? undefined : this.#kept(request, token);
    if (!this.#operatorOf) return session && { token: token!, session };
    const actor = this.#operatorOf(request);
    if (actor === undefined || actor === '')
      throw new PageError(403, 'You may not use this dashboard.', 'Sign in where it is mounted.');
    if (session?.actor === actor) return { token: token!, session };
    const started = this.#sessions.start(actor);
    setCookie(response, session_cookie, started.token, this.#isSecure(request));
    return started;
  }

  #kept({ url = '' }: IncomingMessage, token: string): Session | undefined {
    return polled.test(url) ? this.#sessions.look(token) : this.#sessions.find(token);
  }

  async #formOf(
    request: IncomingMessage,
    token: string | undefined,
    max_bytes?: number,
  ): Promise<URLSearchParams> {
    const again = 'Go back, load the page again, and send it once more.';
    if (!isSameOrigin(request)) throw new PageError(403, 'This form was not sent by the dashboard.', again);
    const form = await readForm(request, max_bytes);
    if (token === undefined || !this.#tokens.accepts(token, form.get(token_field)))
      throw new PageError(403, 'This form has expired, or was not made for you.', again);
    return form;
  }

  #signInForm(
    request: IncomingMessage,
    response: ServerResponse,
    given: { next: string; name?: string; fault?: string; status?: number },
  ): PageResponse {
    let token = cookieOf(request, sign_in_cookie);
    if (token === undefined) {
      token = randomBytes(32).toString('base64url');
      setCookie(response, sign_in_cookie, token, this.#isSecure(request));
    }
    return htmlResponse(given.status ?? 200, signInPage({ ...given, form_token: this.#tokens.of(token) }));
  }

  async #signIn(request: IncomingMessage, response: ServerResponse): Promise<PageResponse> {
    const form = await this.#formOf(request, cookieOf(request, sign_in_cookie));
    const [name, password] = [form.get('name') ?? '', form.get('password') ?? ''];
    const next = localPage(form.get('next'));
    const address = this.#addressOf(request);
    const browser = await this.#operators.knownBrowser(name, cookieOf(request, browser_cookie));
    const attempt: LoginAttempt = { name, address, browser };
    const wait_ms = this.#throttle.wait_ms(attempt);
    const outcome = wait_ms > 0 ? 'throttled' : await this.#tried(attempt, password);
    if (outcome === 'accepted') {
      await this.#signedIn(attempt, request, response);
      return redirect(next);
    }
    this.#context.log.warn({ operator: name.slice(0, 128), address, outcome, wait_ms }, 'sign-in refused');
    if (outcome === 'refused') {
      const fault = 'That name and password do not belong together.';
      return this.#signInForm(request, response, { next, name, fault, status: 401 });
    }
    const seconds = Math.max(1, Math.ceil(wait_ms / 1000));
    const fault = `Too many attempts. Try again in ${seconds} ${seconds === 1 ? 'second' : 'seconds'}.`;
    const answer = this.#signInForm(request, response, { next, name, fault, status: 429 });
    return { ...answer, headers: { ...answer.headers, 'retry-after': String(seconds) } };
  }

  async #signedIn(
    { name, address, browser }: LoginAttempt,
    request: IncomingMessage,
    response: ServerResponse,
  ) {
    const isSecure = this.#isSecure(request);
    const before = cookieOf(request, session_cookie);
    if (before !== undefined) this.#sessions.end(before);
    const { token } = this.#sessions.start(name);
    setCookie(response, session_cookie, token, isSecure);
    if (browser === undefined) {
      const known = await this.#operators.newBrowserCookie(name);
      setCookie(response, browser_cookie, known, isSecure, browser_cookie_s);
    }
    this.#context.log.info({ operator: name, address }, 'operator signed in');
  }

  async #tried(attempt: LoginAttempt, password: string): Promise<'accepted' | 'refused' | 'busy'> {
    // Counted in advance; otherwise parallel attempts would bypass the limit.
    this.#throttle.failed(attempt);
    try {
      if (!(await this.#operators.accept(attempt.name, password, attempt.browser))) return 'refused';
    } catch (thrown) {
      // No password was compared.
      this.#throttle.undone(attempt);
      if (thrown instanceof Busy) return 'busy';
      throw thrown;
    }
    this.#throttle.succeeded(attempt);
    return 'accepted';
  }

  async #signOut(request: IncomingMessage, response: ServerResponse): Promise<PageResponse> {
    const token = cookieOf(request, session_cookie);
    if (token !== undefined && this.#sessions.find(token)) {
      await this.#formOf(request, token);
      this.#sessions.end(token);
    }
    setCookie(response, session_cookie, '', this.#isSecure(request));
    return redirect(this.#operatorOf ? '.' : 'sign-in');
  }

  #isSecure(request: IncomingMessage & { secure?: boolean }): boolean {
    if ((request.socket as TLSSocket).encrypted || request.secure === true) return true;
    return this.#context.settings.admin.trust_proxy && lastOf(request, 'x-forwarded-proto') === 'https';
  }

  #addressOf(request: IncomingMessage): string {
    const forwarded = this.#context.settings.admin.trust_proxy
      ? lastOf(request, 'x-forwarded-for')
      : undefined;
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
