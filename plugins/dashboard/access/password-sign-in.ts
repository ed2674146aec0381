import type { IncomingMessage } from 'node:http';
import type { LoginAttempt, LoginThrottle } from '../../../src/plugin.ts';
import type { DashboardRequest } from '../page-request.ts';
import { htmlResponse, type PageResponse } from '../page-response.ts';
import { type SignInLink, signInDocument } from '../view/document.ts';
import { cookieOf } from './cookies.ts';
import { type FindLogin, knownBrowserCookie, type Login, Passwords } from './passwords.ts';
import type { Refusal } from './sign-in-log.ts';

/** What a sign-in form is shown with, again or for the first time. */
export interface SignInForm {
  /** The page to go to afterwards. */
  readonly next: string;
  readonly name?: string;
  readonly fault?: string;
  /** Fields of a form that was sent after the session had ended. */
  readonly typed?: string;
}

interface PasswordSignInSetup {
  readonly findLogin: FindLogin;
  readonly throttle: LoginThrottle;
  /** Begins the names of its cookies. */
  readonly cookies: string;
  /** Token for a form that is shown to a person who is not signed in. */
  readonly formToken: (request: DashboardRequest) => string;
  readonly addressOf: (request: IncomingMessage) => string;
  readonly setCookie: (request: DashboardRequest, name: string, value: string, max_age_s?: number) => void;
  /** Told of each refusal. */
  readonly refused: (refusal: Refusal) => void;
  /** The link to another way to sign in, if there is one. */
  readonly otherWay: (request: DashboardRequest, form: SignInForm) => SignInLink | undefined;
}

/** What a password was found to prove: a login, or nothing. */
interface Checked {
  readonly login?: Login;
  /** Id of a browser that has signed in with this name before. */
  readonly browser?: string | undefined;
  /** Time to wait, if the password was not compared. */
  readonly wait_s?: number;
}

const tooMany = (wait_s: number): string =>
  `Too many attempts. Try again in ${wait_s} ${wait_s === 1 ? 'second' : 'seconds'}.`;

const browser_cookie_s = 365 * 24 * 3600;

/** Signs in by name and password, slowly for those who guess. */
export class PasswordSignIn {
  readonly #setup: PasswordSignInSetup;
  readonly #passwords: Passwords;
  readonly #throttle: LoginThrottle;

  constructor(setup: PasswordSignInSetup) {
    this.#setup = setup;
    this.#passwords = new Passwords(setup.findLogin);
    this.#throttle = setup.throttle;
  }

  /** The login of this name as it is now. */
  find(name: string): Promise<Login | undefined> {
    return this.#passwords.find(name);
  }

  form(request: DashboardRequest, given: SignInForm, status = 200): PageResponse {
    const form_token = this.#setup.formToken(request);
    const otherWay = this.#setup.otherWay(request, given);
    return htmlResponse(status, signInDocument({ ...given, form_token, otherWay }));
  }

  /** The login that a form proves, or the form again. */
  async signIn(
    request: DashboardRequest,
    form: URLSearchParams,
    again: SignInForm,
  ): Promise<Login | PageResponse> {
    const [name, password] = [form.get('name') ?? '', form.get('password') ?? ''];
    const { login, browser, wait_s } = await this.#checked(request.incoming, name, password);
    if (login) {
      // Gives no access by itself.
      if (browser === undefined) {
        const cookie = knownBrowserCookie(login.person.actor, login.hash);
        this.#setup.setCookie(request, this.#browserCookie, cookie, browser_cookie_s);
      }
      return login;
    }
    if (wait_s === undefined) {
      const fault = 'The name or the password is wrong.';
      return this.form(request, { ...again, name, fault }, 401);
    }
    const answer = this.form(request, { ...again, name, fault: tooMany(wait_s) }, 429);
    return { ...answer, headers: { ...answer.headers, 'retry-after': String(wait_s) } };
  }

  /** Why the password that the person `name` confirms a change with is not accepted; undefined if it is. Counts as a sign-in does. */
  async confirm(incoming: IncomingMessage, name: string, password: string): Promise<string | undefined> {
    const { login, wait_s } = await this.#checked(incoming, name, password);
    if (login) return undefined;
    return wait_s === undefined ? 'The current password is wrong.' : tooMany(wait_s);
  }

  /** Compares a password unless the sender has to wait, for `wait_s` then; a refusal is logged. */
  async #checked(incoming: IncomingMessage, name: string, password: string): Promise<Checked> {
    const candidate = await this.#passwords.candidate(name, cookieOf(incoming, this.#browserCookie));
    const { browser } = candidate;
    const attempt: LoginAttempt = { name, address: this.#setup.addressOf(incoming), browser };
    const wait_ms = this.#throttle.wait_ms(attempt);
    const outcome = wait_ms > 0 ? 'throttled' : await this.#tried(attempt, candidate, password);
    if (typeof outcome === 'object') return { login: outcome, browser };
    this.#setup.refused({ name: name.slice(0, 128), address: attempt.address, outcome, wait_ms });
    return outcome === 'refused' ? {} : { wait_s: Math.max(1, Math.ceil(wait_ms / 1000)) };
  }

  get #browserCookie(): string {
    return `${this.#setup.cookies}_browser`;
  }

  async #tried(attempt: LoginAttempt, candidate: Parameters<Passwords['check']>[0], password: string) {
    // Counted in advance; otherwise parallel attempts would bypass the limit.
    this.#throttle.failed(attempt);
    const outcome = await this.#passwords.check(candidate, password);
    if (outcome === 'busy') this.#throttle.undone(attempt);
    if (typeof outcome === 'object') this.#throttle.succeeded(attempt);
    return outcome;
  }
}
