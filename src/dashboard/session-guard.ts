import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { isOutage } from '../stores/records/database.ts';
import { addressOf, isSecure } from './access/connection.ts';
import {
  cookieOf,
  formTokenOf,
  isFormToken,
  isSameOrigin,
  setCookie,
  token_field,
} from './access/cookies.ts';
import type { Door, Entrance } from './access/entrance.ts';
import { nonce_field } from './access/issued-keys.ts';
import { PasswordSignIn } from './access/password-sign-in.ts';
import type { FindLogin, Login } from './access/passwords.ts';
import { customerName, type Person } from './access/roles.ts';
import { SealedCookies } from './access/sealed-cookies.ts';
import { type Session, Sessions } from './access/sessions.ts';
import type { DashboardContext, DashboardRequest, SignedIn } from './page-request.ts';
import { htmlResponse, PageError, type PageResponse, redirect } from './page-response.ts';
import { readForm } from './read-form.ts';
import { reloadDocument, resumeDocument } from './view/document.ts';

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
  /** Pages for those who are not signed in. */
  readonly entrances?: readonly Entrance[] | undefined;
}

/** Pages that ask by themselves, which must not keep an unused session alive. */
const byThemselves: ReadonlySet<string> = new Set(['overview-live', 'requests-live']);

/** Longest content of a form that is kept while its sender signs in again. */
const max_typed_characters = 8192;
/** Refusals that are recorded in the audit log, in each minute; all are in the log. */
const max_recorded_refusals = 30;

interface Found {
  readonly token: string;
  readonly session: Session;
}

/** Checks sessions and the origin of forms, and signs in and out. */
export class SessionGuard implements Door {
  readonly #context: DashboardContext;
  readonly #area: Area;
  readonly #sessions: Sessions;
  readonly #byPassword: PasswordSignIn | undefined;
  readonly #entrances: ReadonlyMap<string, Entrance>;
  #refusals = { minute: 0, count: 0 };

  constructor(context: DashboardContext, area: Area) {
    const { clock, records } = context;
    const { name, limits, findLogin, trust_proxy, entrances = [] } = area;
    this.#context = context;
    this.#area = area;
    this.#entrances = new Map(entrances.map(entrance => [entrance.name, entrance]));
    this.#sessions = new Sessions({ records: records.store.sessions, clock, limits, area: name });
    this.#byPassword =
      findLogin &&
      new PasswordSignIn({
        findLogin,
        clock,
        cookies: this.#cookies,
        formToken: request => this.formToken(request),
        addressOf: incoming => addressOf(incoming, trust_proxy),
        setCookie: (request, cookie, value, max_age_s) => this.#setCookie(request, cookie, value, max_age_s),
        refused: refusal => this.#refused(refusal),
      });
  }

  has(path: string): boolean {
    if (this.#entrances.has(path)) return true;
    return path === 'sign-out' || (path === 'sign-in' && this.#byPassword !== undefined);
  }

  async answer(request: DashboardRequest): Promise<PageResponse> {
    const entrance = this.#entrances.get(request.path);
    if (entrance) return entrance.answer(request, this);
    const isSignIn = request.path === 'sign-in';
    if (request.incoming.method === 'POST') return isSignIn ? this.#signIn(request) : this.#signOut(request);
    if (!isSignIn) return redirect('.');
    return this.#byPassword!.form(request, { next: request.query.get('next') ?? '' });
  }

  /** Returns the session of a request and its form, or a response that leads to the login. Throws a PageError for forms of other sites. */
  async enter(request: DashboardRequest, max_form_bytes?: number): Promise<SignedIn | PageResponse> {
    const { incoming } = request;
    const found = await this.#sessionOf(request);
    if (!found) return this.#withoutSession(request);
    const { token, session } = found;
    const form =
      incoming.method === 'POST'
        ? await this.#formOf(incoming, token, max_form_bytes)
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
        return this.#sealed(request, (await this.#start(request, session, credential)).token);
      },
      isOpen: async () => (await this.#ofToken(token, true)) !== undefined,
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
    const before = cookieOf(request.incoming, `${this.#cookies}_session`);
    if (before) await this.#sessions.end(before);
    const { token } = await this.#start(request, person, credential);
    await this.#record('sign-in.accept', request, person.actor);
    return token;
  }

  addressOf({ incoming }: DashboardRequest): string {
    return addressOf(incoming, this.#area.trust_proxy);
  }

  async #withoutSession(request: DashboardRequest): Promise<PageResponse> {
    const { path, query, incoming } = request;
    const { method, headers } = incoming;
    if (!this.#byPassword)
      throw new PageError(403, `You may not use this ${this.#area.name}.`, 'Sign in where it is mounted.');
    if (headers['sec-fetch-dest'] === 'empty') throw new PageError(401, 'You are signed out.');
    // After a link from another site the browser may still be signed in: only requests of this site carry its cookie.
    if (headers['sec-fetch-site'] === 'cross-site' && method === 'GET')
      return htmlResponse(200, reloadDocument());
    const here = query.size > 0 ? `${path}?${query}` : path;
    if (method === 'POST' && isSameOrigin(incoming)) {
      const fault = 'You were signed out. Sign in to go on where you were: nothing has been changed yet.';
      const typed = typedIn(await readForm(incoming));
      return this.#byPassword.form(request, { next: here, typed, fault }, 401);
    }
    if (path === '' || method !== 'GET') return redirect('sign-in');
    return redirect(`sign-in?${new URLSearchParams({ next: here })}`);
  }

  async #sessionOf(request: DashboardRequest): Promise<Found | undefined> {
    const { path, incoming } = request;
    const token = cookieOf(incoming, `${this.#cookies}_session`);
    const person = await this.#area.named?.(incoming);
    if (person) {
      const session = token && (await this.#sessions.find(token, byThemselves.has(path)));
      const isSame = session && isSamePerson(session, person);
      return isSame ? { token, session } : this.#start(request, person);
    }
    return token === undefined ? undefined : this.#ofToken(token, byThemselves.has(path));
  }

  /** The session of a person who signed in here, as long as what was signed in with is valid; with the role that the person has now. */
  async #ofToken(token: string, byItself: boolean): Promise<Found | undefined> {
    const session = await this.#sessions.find(token, byItself);
    const login = session && (await this.#byPassword?.find(session.actor));
    if (!login || !this.#sessions.isStartedWith(token, login.credential)) return undefined;
    return { token, session: { ...session, ...login.person } };
  }

  async #start(request: DashboardRequest, person: Person, credential?: string): Promise<Found> {
    const started = await this.#sessions.start(person, credential);
    this.#setCookie(request, `${this.#cookies}_session`, started.token);
    return started;
  }

  async #formOf(request: IncomingMessage, cookie: string, max_bytes?: number): Promise<URLSearchParams> {
    const again = 'Go back, load the page again, and send it once more.';
    if (!isSameOrigin(request)) throw new PageError(403, 'This form was not sent by the dashboard.', again);
    const form = await readForm(request, max_bytes);
    if (!isFormToken(cookie, form.get(token_field)))
      throw new PageError(403, 'This form has expired, or was not made for you.', again);
    return form;
  }

  async #signIn(request: DashboardRequest): Promise<PageResponse> {
    const byPassword = this.#byPassword!;
    const form = await this.readForm(request);
    const next = localPage(form.get('next'));
    const typed = form.get('typed') ?? '';
    const login = await byPassword.signIn(request, form, { next, typed });
    if ('status' in login) return login;
    const token = await this.signIn(request, login);
    if (typed === '') return redirect(next);
    return htmlResponse(200, resumeDocument(next, new URLSearchParams(typed), formTokenOf(token)));
  }

  async #signOut(request: DashboardRequest): Promise<PageResponse> {
    const token = cookieOf(request.incoming, `${this.#cookies}_session`) ?? '';
    const session = token && (await this.#sessions.find(token));
    if (session) {
      await this.#formOf(request.incoming, token);
      await this.#sessions.end(token);
      await this.#record('sign-in.end', request, session.actor);
    }
    this.#setCookie(request, `${this.#cookies}_session`, '', 0);
    return redirect(this.#byPassword ? 'sign-in' : '.');
  }

  #refused({ name, ...refusal }: { name: string; address: string; outcome: string; wait_ms: number }): void {
    this.#context.log.warn({ ...this.#logged(name), ...refusal }, 'sign-in refused');
    const at_ms = this.#context.clock.epoch_ms();
    const minute = Math.floor(at_ms / 60_000);
    if (this.#refusals.minute !== minute) this.#refusals = { minute, count: 0 };
    if (++this.#refusals.count > max_recorded_refusals) return;
    const { address, outcome } = refusal;
    void this.#write('sign-in.refuse', { actor: this.#audited(name), address, at_ms }, { outcome });
  }

  async #record(action: 'sign-in.accept' | 'sign-in.end', { incoming }: DashboardRequest, actor: string) {
    const address = addressOf(incoming, this.#area.trust_proxy);
    this.#context.log.info(
      { ...this.#logged(actor), address },
      action === 'sign-in.end' ? 'signed out' : 'signed in',
    );
    const at_ms = this.#context.clock.epoch_ms();
    await this.#write(action, { actor: this.#audited(actor), address, at_ms });
  }

  #audited(name: string): string {
    return this.#area.name === 'portal' ? customerName(name) : name;
  }

  #logged(name: string): object {
    return this.#area.name === 'portal' ? { customer: name } : { operator: name };
  }

  /** Never rejects: nobody is kept out because the log cannot be written. */
  async #write(...[action, who, detail]: SignInEntry): Promise<void> {
    const { store } = this.#context.records;
    await store.audit.signIn(who, action, this.#area.name, detail).catch(thrown => {
      const message = 'a sign-in is not in the audit log';
      this.#context.log[isOutage(thrown) ? 'warn' : 'error']({ err: thrown }, message);
    });
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

  /** Begins the names of cookies: an operator may be a customer as well, in the same browser. */
  get #cookies(): string {
    return this.#area.name === 'dashboard' ? 'sluice' : 'sluice_portal';
  }
}

type SignInEntry = [
  action: 'sign-in.accept' | 'sign-in.refuse' | 'sign-in.end',
  who: { actor: string; address: string; at_ms: number },
  detail?: object,
];

const isSamePerson = (session: Session, { actor, role, account }: Person): boolean =>
  session.actor === actor && session.role === role && session.account === account;

/** What was typed into a form, without what belongs to its session and without secrets; empty for nothing, or for too much. */
function typedIn(form: URLSearchParams): string {
  const fields = [...form].filter(
    ([name]) => ![token_field, nonce_field, 'key'].includes(name) && !name.includes('password'),
  );
  const text = new URLSearchParams(fields).toString();
  return text.length <= max_typed_characters ? text : '';
}

/** Page to open after login: always one of the dashboard, never an external one. */
const localPage = (next: string | null): string =>
  next && /^[a-z][a-z-]*(\?[!"$-[\]-~]*)?$/.test(next) ? next : '.';
