import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { ExtensionContext } from '../../../src/plugin.ts';
import type { DashboardRequest } from '../page-request.ts';
import { localPage, PageError, type PageResponse, redirect } from '../page-response.ts';
import { type ClaimSources, normalizedName, type OidcPeople, textsIn } from './claims.ts';
import { cookieOf, setCookie } from './cookies.ts';
import { OidcClient, ProviderRefused } from './oidc-client.ts';
import { begunWith, newProofs, type OidcProofs } from './oidc-proofs.ts';
import { failurePage, refusalPage } from './oidc-refusals.ts';
import type { Person } from './roles.ts';
import { SealedCookies } from './sealed-cookies.ts';
import type { SignInLog } from './sign-in-log.ts';
import type { OidcSettings } from './sign-in-settings.ts';

interface OidcSignInSetup {
  readonly context: ExtensionContext;
  readonly settings: OidcSettings;
  readonly people: OidcPeople;
  readonly area: 'dashboard' | 'portal';
  /** Begins the names of its cookies. */
  readonly cookies: string;
  readonly isSecure: (request: IncomingMessage) => boolean;
  readonly addressOf: (request: IncomingMessage) => string;
  readonly log: SignInLog;
}

/** A person whom the provider has signed in. */
interface OidcLogin {
  readonly person: Person;
  /** Changes with the settings that the sign-in depends on. */
  readonly credential: string;
  /** The page to go to. */
  readonly next: string;
  /** Fields of a form that was sent after the session had ended. */
  readonly typed: string;
}

/** Time for signing in at the provider. */
const flow_s = 600;
/** Longest fields of a form that are kept meanwhile: a cookie has 4 kB. */
const max_typed_characters = 2000;
const max_next_characters = 500;
const max_name_characters = 256;

/**
 * Signs in by an OpenID provider. What is checked at the callback is derived from one random token in a cookie of the browser that
 * began, so that no instance keeps anything and any can finish.
 */
export class OidcSignIn {
  readonly #setup: OidcSignInSetup;
  readonly #client: OidcClient;

  constructor(setup: OidcSignInSetup) {
    this.#setup = setup;
    this.#client = new OidcClient(setup.settings, setup.context.clock);
  }

  /** The link to it on a sign-in page; what was typed before is there again afterwards, if it is short enough. */
  offer(request: DashboardRequest, { next, typed = '' }: { next: string; typed?: string }) {
    if (typed !== '' && typed.length <= max_typed_characters) {
      const sealed = this.#sealed(request, this.#token(request));
      sealed.put(this.#typedCookie, JSON.stringify({ next, typed }), { sameSite: 'lax', maxAge: flow_s });
    }
    const { label } = this.#setup.settings;
    return { label, href: next === '' ? 'sign-in-oidc' : `sign-in-oidc?${new URLSearchParams({ next })}` };
  }

  /** Leads to the provider. */
  async start(request: DashboardRequest): Promise<PageResponse> {
    const token = this.#token(request);
    const next = localPage(request.query.get('next')).slice(0, max_next_characters);
    const proofs = newProofs(token, next);
    try {
      return redirect(await this.#client.authorizationUrl(this.#redirectUrl(request), proofs));
    } catch (thrown) {
      throw this.#failed(request, thrown);
    }
  }

  /** The person of a callback. Throws a PageError that says why the sign-in is refused. */
  async finish(request: DashboardRequest): Promise<OidcLogin> {
    const { incoming, query } = request;
    const token = cookieOf(incoming, this.#cookie);
    const begun = token && begunWith(token, query.get('state') ?? '');
    if (!begun)
      throw new PageError(
        400,
        'This sign-in was not begun here, or it took too long.',
        'Begin again on the sign-in page.',
      );
    // Each sign-in is finished once.
    this.#set(request, '', 0);
    const typed = this.#typed(request, token, begun.next);
    const person = await this.#person(request, begun.proofs);
    return { ...person, next: begun.next, typed };
  }

  /** Whom a session belongs to now; undefined if it has ended with the settings, or was not started by this sign-in. */
  personOf(session: Person, isStartedWith: (credential: string) => boolean): Person | undefined {
    const { actor, role, account } = session;
    const named = this.#setup.people.byName(actor);
    if (isStartedWith(this.#credential('name'))) return named;
    return isStartedWith(this.#credential('claims')) ? (named ?? { actor, role, account }) : undefined;
  }

  async #person(
    request: DashboardRequest,
    proofs: OidcProofs,
  ): Promise<Pick<OidcLogin, 'person' | 'credential'>> {
    const { people } = this.#setup;
    let claims: ClaimSources;
    try {
      claims = await this.#client.claims(this.#redirectUrl(request), request.query, proofs, found =>
        this.#isEnough(found),
      );
    } catch (thrown) {
      throw this.#failed(request, thrown);
    }
    const name = this.#nameIn(claims);
    if (name === undefined) throw this.#refused(request, `${claims[0]!.sub}`, 'no name');
    const named = people.byName(name);
    if (named) return { person: named, credential: this.#credential('name') };
    const person = people.byClaims(name, claims);
    if (!person) throw this.#refused(request, name, 'no role');
    return { person, credential: this.#credential('claims') };
  }

  #isEnough(claims: ClaimSources): boolean {
    const name = this.#nameIn(claims);
    return (
      name !== undefined &&
      (this.#setup.people.byName(name) ?? this.#setup.people.byClaims(name, claims)) !== undefined
    );
  }

  #nameIn(claims: ClaimSources): string | undefined {
    const { name_claim } = this.#setup.settings;
    const [text = '', ...others] = textsIn(claims, name_claim);
    const name = text.trim();
    if (others.length > 0 || name === '' || name.length > max_name_characters) return undefined;
    return normalizedName(name, name_claim);
  }

  #refused({ incoming }: DashboardRequest, name: string, outcome: 'no name' | 'no role'): PageError {
    const { area, settings, log, addressOf } = this.#setup;
    log.refused({ name: name.slice(0, 128), address: addressOf(incoming), outcome });
    return refusalPage(outcome, area, settings.name_claim, name);
  }

  #failed({ incoming }: DashboardRequest, thrown: unknown): PageError {
    const { context, log, addressOf } = this.#setup;
    if (thrown instanceof ProviderRefused) {
      const outcome = `provider: ${thrown.error.slice(0, 60)}`;
      log.refused({ name: '', address: addressOf(incoming), outcome });
    } else {
      const { message, code, cause } = thrown as Error & { code?: string };
      const why = cause instanceof Error ? cause.message : undefined;
      // Not the error itself: it may have tokens.
      context.log.warn({ reason: message, code, cause: why }, 'sign-in by OpenID failed');
    }
    return failurePage(thrown);
  }

  #redirectUrl({ incoming }: DashboardRequest): string {
    const { settings, isSecure } = this.#setup;
    if (settings.redirect_url) return settings.redirect_url;
    const { originalUrl, url = '/', headers } = incoming as IncomingMessage & { originalUrl?: string };
    const folder = (originalUrl ?? url).split('?')[0]!.replace(/[^/]*$/, '');
    const here = `${isSecure(incoming) ? 'https' : 'http'}://${headers.host}${folder}sign-in-callback`;
    if (URL.canParse(here)) return here;
    throw new PageError(400, 'The Host header of this request is not valid.');
  }

  /** What a session depends on, for one that began by name or by other claims. */
  #credential(by: 'name' | 'claims'): string {
    const { settings, people } = this.#setup;
    const { issuer, client_id, name_claim } = settings;
    return JSON.stringify([by, issuer, client_id, name_claim, by === 'claims' ? people.claimsRule : '']);
  }

  /** The browser's token, which sign-ins in several windows share. */
  #token(request: DashboardRequest): string {
    const token = cookieOf(request.incoming, this.#cookie) ?? randomBytes(32).toString('base64url');
    this.#set(request, token, flow_s);
    return token;
  }

  #set({ incoming, response }: DashboardRequest, value: string, maxAge: number): void {
    const secure = this.#setup.isSecure(incoming);
    // The provider leads back here: a strict cookie would not come along.
    setCookie(response, { name: this.#cookie, value, secure, maxAge, sameSite: 'lax' });
  }

  #typed(request: DashboardRequest, token: string, page: string): string {
    const kept = this.#sealed(request, token).take(this.#typedCookie);
    if (kept === undefined) return '';
    const { next, typed } = JSON.parse(kept) as { next: string; typed: string };
    return next === page ? typed : '';
  }

  #sealed({ incoming, response }: DashboardRequest, token: string): SealedCookies {
    return new SealedCookies(token, incoming, response, this.#setup.isSecure(incoming));
  }

  get #cookie(): string {
    return `${this.#setup.cookies}_oidc`;
  }

  get #typedCookie(): string {
    return `${this.#setup.cookies}_typed`;
  }
}
