import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { addressOf, type ExtensionContext } from '../../src/plugin.ts';
import type { OidcPeople } from './access/claims.ts';
import {
  cookieOf,
  formTokenOf,
  isFormToken,
  isSameOrigin,
  isSecure,
  setCookie,
  token_field,
} from './access/cookies.ts';
import type { Door, Entrance } from './access/entrance.ts';
import { OidcSignIn } from './access/oidc-sign-in.ts';
import { PasswordSignIn, type SignInForm } from './access/password-sign-in.ts';
import type { FindLogin, Login } from './access/passwords.ts';
import { ProxyHeader } from './access/proxy-header.ts';
import { callerOf, type Person } from './access/roles.ts';
import { SealedCookies } from './access/sealed-cookies.ts';
import { SessionKeeper } from './access/session-keeper.ts';
import { Sessions } from './access/sessions.ts';
import { type Refusal, SignInLog } from './access/sign-in-log.ts';
import type { SignInMemory } from './access/sign-in-memory.ts';
import type { AdminProxySettings, OidcSettings } from './access/sign-in-settings.ts';
import { resumed, typedIn } from './access/typed-form.ts';
import type { DashboardRequest, SignedIn } from './page-request.ts';
import { htmlResponse, localPage, PageError, type PageResponse, redirect } from './page-response.ts';
import { readForm } from './read-form.ts';
import { reloadDocument, signInDocument } from './view/document.ts';
import { find_page } from './view/search-form.ts';

/** Who may use a set of pages, and how they are recognized. */
export interface Area {
  readonly name: 'dashboard' | 'portal';
  /** Idle timeout and maximum lifetime of sessions. */
  readonly limits: { readonly idle_ms: number; readonly max_ms: number };
  /** Whether `X-Forwarded-Proto` and `X-Forwarded-For` are believed. */
  readonly trust_proxy: boolean;
  /** The person whom the application or a proxy names with each request; undefined for nobody. */
  readonly named?: ((incoming: IncomingMessage) => Promise<Person | undefined>) | undefined;
  /** Finds who may sign in by name and password. */
  readonly findLogin?: FindLogin | undefined;
  /** A proxy that names people by a header, beside `named`. */
  readonly proxy?: AdminProxySettings | undefined;
  /** The OpenID provider, and who of its people may sign in. */
  readonly oidc?: { readonly settings: OidcSettings; readonly people: OidcPeople } | undefined;
  /** Pages for those who are not signed in. */
  readonly entrances?: readonly Entrance[] | undefined;
}

/** Checks sessions and the origin of forms, and signs in and out. */
export class SessionGuard implements Door {
  readonly #area: Area;
  readonly #sessions: Sessions;
  readonly #byPassword: PasswordSignIn | undefined;
  readonly #byOidc: OidcSignIn | undefined;
  readonly #keeper: SessionKeeper;
  readonly #entrances: ReadonlyMap<string, Entrance>;
  readonly #log: SignInLog;

  constructor(context: ExtensionContext, area: Area, { sessions: known, throttle }: SignInMemory) {
    const { clock, records } = context;
    const { name, limits, findLogin, oidc, proxy, trust_proxy, entrances = [] } = area;
    this.#area = area;
    this.#entrances = new Map(entrances.map(entrance => [entrance.name, entrance]));
    this.#sessions = new Sessions({ records: records.store.sessions, clock, limits, area: name, known });
    const ofRequest = {
      cookies: this.#cookies,
      addressOf: (incoming: IncomingMessage) => addressOf(incoming, trust_proxy),
      isSecure: (incoming: IncomingMessage) => isSecure(incoming, trust_proxy),
    };
    const log = new SignInLog({ ...ofRequest, context, area: name });
    const refused = (refusal: Refusal) => log.refused(refusal);
    this.#log = log;
    const byProxy = proxy && new ProxyHeader({ settings: proxy, clock, log: context.log, refused });
    this.#byOidc = oidc && new OidcSignIn({ ...ofRequest, ...oidc, context, area: name, log });
    this.#byPassword =
      findLogin &&
      new PasswordSignIn({
        ...ofRequest,
        findLogin,
        throttle,
        formToken: request => this.formToken(request),
        setCookie: (request, cookie, value, max_age_s) => this.#setCookie(request, cookie, value, max_age_s),
        refused,
        otherWay: (request, form) => this.#byOidc?.offer(request, form),
      });
    this.#keeper = new SessionKeeper({
      sessions: this.#sessions,
      cookie: this.#sessionCookie,
      setCookie: (request, cookie, value) => this.#setCookie(request, cookie, value),
      named: async incoming => (await area.named?.(incoming)) ?? byProxy?.personOf(incoming),
      byPassword: this.#byPassword,
      byOidc: this.#byOidc,
    });
  }

  has(path: string): boolean {
    if (path === 'sign-in') return this.#hasSignIn;
    if (path === 'sign-in-oidc' || path === 'sign-in-callback') return this.#byOidc !== undefined;
    return path === 'sign-out' || this.#entrances.has(path);
  }

  async answer(request: DashboardRequest): Promise<PageResponse> {
    const { path, incoming, query } = request;
    const entrance = this.#entrances.get(path);
    if (entrance) return entrance.answer(request, this);
    if (incoming.method === 'POST' && path === 'sign-out') return this.#signOut(request);
    if (incoming.method === 'POST' && path === 'sign-in' && this.#byPassword)
      return this.#signIn(request, this.#byPassword);
    if (incoming.method !== 'GET' || path === 'sign-out') return redirect('.');
    if (path === 'sign-in-oidc') return this.#byOidc!.start(request);
    if (path === 'sign-in-callback') return this.#comeBack(request, this.#byOidc!);
    return this.#signInPage(request, { next: query.get('next') ?? '' });
  }

  get #hasSignIn(): boolean {
    return this.#byPassword !== undefined || this.#byOidc !== undefined;
  }

  /** The page with every way to sign in. */
  #signInPage(request: DashboardRequest, form: SignInForm, status = 200): PageResponse {
    if (this.#byPassword) return this.#byPassword.form(request, form, status);
    const otherWay = this.#byOidc?.offer(request, form);
    return htmlResponse(status, signInDocument({ ...form, otherWay }));
  }

  /** Returns the session of a request and its form, or a response that leads to the login. Throws a PageError for forms of other sites. */
  async enter(request: DashboardRequest, max_form_bytes?: number): Promise<SignedIn | PageResponse> {
    const { incoming } = request;
    const found = await this.#keeper.find(request);
    if (!found) return this.#withoutSession(request);
    const { token, session } = found;
    const form =
      incoming.method === 'POST'
        ? await this.#formOf(incoming, token, max_form_bytes, callerOf(session))
        : new URLSearchParams();
    const { trust_proxy } = this.#area;
    return {
      session,
      form,
      form_token: formTokenOf(token),
      address: addressOf(incoming, trust_proxy),
      cookies: this.#sealed(request, token),
      renew: async credential => {
        await this.#sessions.endAll(session);
        return this.#sealed(request, (await this.#keeper.start(request, session, credential)).token);
      },
      confirm: async password =>
        this.#byPassword
          ? this.#byPassword.confirm(incoming, session.actor, password)
          : 'Your password is not kept here.',
      isOpen: () => this.#keeper.isOpen(incoming, found),
      canSignOut: !found.isNamed,
    };
  }

  #sealed({ incoming, response }: DashboardRequest, token: string): SealedCookies {
    return new SealedCookies(token, incoming, response, isSecure(incoming, this.#area.trust_proxy));
  }

  formToken(request: DashboardRequest): string {
    const name = `${this.#cookies}_sign_in`;
    const known = cookieOf(request.incoming, name);
    if (known !== undefined) return formTokenOf(known);
    const cookie = randomBytes(32).toString('base64url');
    this.#setCookie(request, name, cookie);
    return formTokenOf(cookie);
  }

  readForm({ incoming }: DashboardRequest): Promise<URLSearchParams> {
    return this.#formOf(incoming, cookieOf(incoming, `${this.#cookies}_sign_in`) ?? '');
  }

  async signIn(
    request: DashboardRequest,
    { person, credential }: Pick<Login, 'person' | 'credential'>,
  ): Promise<string> {
    const before = this.#keeper.tokenOf(request.incoming);
    if (before) await this.#sessions.end(before);
    const { token } = await this.#keeper.start(request, person, credential);
    await this.#log.accepted(request.incoming, person.actor);
    return token;
  }

  addressOf({ incoming }: DashboardRequest): string {
    return addressOf(incoming, this.#area.trust_proxy);
  }

  async #withoutSession(request: DashboardRequest): Promise<PageResponse> {
    const { path, query, incoming } = request;
    const { method, headers } = incoming;
    if (!this.#hasSignIn)
      throw new PageError(403, `You may not use this ${this.#area.name}.`, 'Sign in where it is mounted.');
    if (headers['sec-fetch-dest'] === 'empty') throw new PageError(401, 'You are signed out.');
    // After a link from another site the browser may still be signed in: only requests of this site carry its cookie.
    if (headers['sec-fetch-site'] === 'cross-site' && method === 'GET')
      return htmlResponse(200, reloadDocument());
    const here = query.size > 0 ? `${path}?${query}` : path;
    if (method === 'POST' && isSameOrigin(incoming)) {
      const fault = 'You were signed out. Sign in to go on where you were: nothing has been changed yet.';
      const form = await readForm(incoming);
      // A search is not kept: a secret may have been pasted into it.
      const typed = path === find_page ? '' : typedIn(form);
      return this.#signInPage(request, { next: here, typed, fault }, 401);
    }
    if (path === '' || method !== 'GET') return redirect('sign-in');
    return redirect(`sign-in?${new URLSearchParams({ next: here })}`);
  }

  async #formOf(
    request: IncomingMessage,
    cookie: string,
    max_bytes?: number,
    sender?: string,
  ): Promise<URLSearchParams> {
    const again = 'Go back, load the page again, and send it once more.';
    if (!isSameOrigin(request)) throw new PageError(403, 'This form was not sent by the dashboard.', again);
    const form = await readForm(request, max_bytes, sender);
    if (!isFormToken(cookie, form.get(token_field)))
      throw new PageError(403, 'This form has expired, or was not made for you.', again);
    return form;
  }

  async #signIn(request: DashboardRequest, byPassword: PasswordSignIn): Promise<PageResponse> {
    const form = await this.readForm(request);
    const next = localPage(form.get('next'));
    const typed = form.get('typed') ?? '';
    const login = await byPassword.signIn(request, form, { next, typed });
    if ('status' in login) return login;
    const token = await this.signIn(request, login);
    if (typed === '') return redirect(next);
    return resumed(next, typed, token);
  }

  /** From the OpenID provider. */
  async #comeBack(request: DashboardRequest, byOidc: OidcSignIn): Promise<PageResponse> {
    const login = await byOidc.finish(request);
    const { next, typed } = login;
    const token = await this.signIn(request, login);
    // Not a redirect: to a page that another site has led to, the browser does not send the session's cookie.
    if (typed === '') return htmlResponse(200, reloadDocument(next));
    return resumed(next, typed, token);
  }

  async #signOut(request: DashboardRequest): Promise<PageResponse> {
    const token = this.#keeper.tokenOf(request.incoming) ?? '';
    const session = token && (await this.#sessions.find(token));
    if (session) {
      await this.#formOf(request.incoming, token);
      await this.#sessions.end(token);
      await this.#log.ended(request.incoming, session.actor);
    }
    this.#setCookie(request, this.#sessionCookie, '', 0);
    return redirect(this.#hasSignIn ? 'sign-in' : '.');
  }

  /** `max_age_s` 0 removes the cookie. */
  #setCookie(
    { incoming, response }: DashboardRequest,
    name: string,
    value: string,
    max_age_s?: number,
  ): void {
    const secure = isSecure(incoming, this.#area.trust_proxy);
    setCookie(response, { name, value, secure, ...(max_age_s !== undefined && { maxAge: max_age_s }) });
  }

  get #sessionCookie(): string {
    return `${this.#cookies}_session`;
  }

  /** Begins the names of cookies: an operator may be a customer as well, in the same browser. */
  get #cookies(): string {
    return this.#area.name === 'dashboard' ? 'sluice' : 'sluice_portal';
  }
}
