import type { IncomingMessage } from 'node:http';
import type { DashboardRequest } from '../page-request.ts';
import { cookieOf } from './cookies.ts';
import type { OidcSignIn } from './oidc-sign-in.ts';
import type { PasswordSignIn } from './password-sign-in.ts';
import type { Person } from './roles.ts';
import type { Session, Sessions } from './sessions.ts';

/** A session with the token that its browser has. */
interface Found {
  readonly token: string;
  readonly session: Session;
  /** Whether the application or a proxy names the person with each request. */
  readonly isNamed: boolean;
}

interface SessionKeeperSetup {
  readonly sessions: Sessions;
  /** The name of the cookie that has the token. */
  readonly cookie: string;
  readonly setCookie: (request: DashboardRequest, name: string, value: string) => void;
  /** The person whom the application or a proxy names with each request. */
  readonly named: (incoming: IncomingMessage) => Promise<Person | undefined>;
  readonly byPassword: PasswordSignIn | undefined;
  readonly byOidc: OidcSignIn | undefined;
}

/** Pages that ask by themselves, which must not keep an unused session alive. */
const byThemselves: ReadonlySet<string> = new Set(['overview-live', 'requests-live']);

/** Knows whose session a request belongs to, with the role that the person has now. */
export class SessionKeeper {
  readonly #setup: SessionKeeperSetup;

  constructor(setup: SessionKeeperSetup) {
    this.#setup = setup;
  }

  /** The session of a request; one is started for a person who is named with it. */
  async find(request: DashboardRequest): Promise<Found | undefined> {
    const { path, incoming } = request;
    const token = this.tokenOf(incoming);
    const byItself = byThemselves.has(path);
    const person = await this.#setup.named(incoming);
    if (!person) return token === undefined ? undefined : this.#ofToken(token, byItself);
    const session = token && (await this.#setup.sessions.find(token, byItself));
    if (session && isSamePerson(session, person)) return { token, session, isNamed: true };
    return { ...(await this.start(request, person)), isNamed: true };
  }

  /** The token that a browser has sent, whatever it is worth. */
  tokenOf(incoming: IncomingMessage): string | undefined {
    return cookieOf(incoming, this.#setup.cookie);
  }

  /** Starts a session and gives its token to the browser. */
  async start(request: DashboardRequest, person: Person, credential?: string) {
    const started = await this.#setup.sessions.start(person, credential);
    this.#setup.setCookie(request, this.#setup.cookie, started.token);
    return started;
  }

  /** Whether `session` goes on, of the same person with the same role. */
  async isOpen(incoming: IncomingMessage, { token, session }: Found): Promise<boolean> {
    const person = await this.#setup.named(incoming);
    const now = person
      ? await this.#setup.sessions.find(token, true)
      : (await this.#ofToken(token, true))?.session;
    return now !== undefined && isSamePerson(now, person ?? session);
  }

  /** The session of a person who signed in here, as long as what was signed in with is valid. */
  async #ofToken(token: string, byItself: boolean): Promise<Found | undefined> {
    const { sessions, byPassword, byOidc } = this.#setup;
    const session = await sessions.find(token, byItself);
    if (!session) return undefined;
    const isStartedWith = (credential: string) => sessions.isStartedWith(token, credential);
    const login = await byPassword?.find(session.actor);
    const person =
      login && isStartedWith(login.credential) ? login.person : byOidc?.personOf(session, isStartedWith);
    return person && { token, session: { ...session, ...person }, isNamed: false };
  }
}

const isSamePerson = (session: Session, { actor, role, account }: Person): boolean =>
  session.actor === actor && session.role === role && session.account === account;
