import type { IncomingMessage } from 'node:http';
import {
  type ExtensionContext,
  isStoredKeyForm,
  NotThere,
  RecordRefused,
  type RequestHandler,
  StoreUnavailable,
} from '../../src/plugin.ts';
import { nonce_field } from './access/issued-keys.ts';
import { callerOf, type Role } from './access/roles.ts';
import { typedIn } from './access/typed-form.ts';
import { assetAt } from './assets.ts';
import type { DashboardRequest, Page, Services, SignedIn, Site } from './page-request.ts';
import { htmlResponse, PageError, type PageResponse, redirect, writeResponse } from './page-response.ts';
import { PageTurns } from './page-turns.ts';
import { type Scope, scopeOf } from './scope.ts';
import { type Area, SessionGuard } from './session-guard.ts';
import { errorDocument, resumeDocument } from './view/document.ts';
import { linkOf } from './view/format.ts';
import { inReadersZone } from './view/time-zone.ts';

type MountedRequest = IncomingMessage & { readonly originalUrl?: string; readonly baseUrl?: string };

/** A set of pages with those who may use them. */
export interface SiteParts extends Site {
  readonly area: Area;
  readonly pages: readonly Page[];
}

/** Creates the handler of a set of pages, to be mounted at a path. Without a way to sign in it calls `next`. */
export function createSite(context: ExtensionContext, parts: SiteParts, services: Services): RequestHandler {
  const { named, proxy, findLogin, oidc } = parts.area;
  if (!(named ?? proxy ?? findLogin ?? oidc)) return (_, __, next) => next();
  const dashboard = new Dashboard(context, parts, services);
  return (incoming, response, next) => {
    const { path, query } = placeOf(incoming);
    if (path === undefined) return void writeResponse(response, redirect(withSlash(incoming)));
    if (!dashboard.has(path) && !(incoming as MountedRequest).baseUrl) return next();
    const answered = dashboard.answer({ path, query, incoming, response });
    answered
      .then(answer => answer && writeResponse(response, answer))
      .catch(async fault => {
        // The browser has left.
        if (response.destroyed || (incoming.destroyed && !incoming.complete)) return;
        context.log.error({ err: fault, path }, 'failed to render a dashboard page');
        if (response.headersSent) response.destroy();
        else
          await writeResponse(
            response,
            new PageError(500, 'This page failed.', 'The log says why.').response,
          );
      });
  };
}

class Dashboard {
  readonly #context: ExtensionContext;
  readonly #services: Services;
  readonly #site: Site;
  readonly #guard: SessionGuard;
  readonly #turns = new PageTurns();
  readonly #pages: ReadonlyMap<string, Page>;

  constructor(context: ExtensionContext, { area, pages, ...site }: SiteParts, services: Services) {
    this.#services = services;
    this.#context = context;
    this.#site = site;
    this.#guard = new SessionGuard(context, area, services.signIns);
    this.#pages = new Map(pages.map(page => [page.name, page]));
  }

  has(path: string): boolean {
    return this.#pages.has(path) || assetAt(path) !== undefined || this.#guard.has(path);
  }

  async answer(request: DashboardRequest): Promise<PageResponse | undefined> {
    try {
      const clean = withoutKeys(request);
      if (clean !== undefined) return redirect(clean);
      const asset = assetAt(request.path);
      return (
        asset ?? (await (this.#guard.has(request.path) ? this.#guard.answer(request) : this.#page(request)))
      );
    } catch (thrown) {
      return this.#errorOf(thrown).response;
    }
  }

  async #page(request: DashboardRequest): Promise<PageResponse | undefined> {
    const { method = '' } = request.incoming;
    const page = this.#pages.get(request.path);
    if (!page) return noSuchPage(request.path);
    const signedIn = await this.#guard.enter(request, page.max_form_bytes);
    if ('status' in signedIn) return signedIn;
    const handler = { GET: page.get, HEAD: page.get, POST: page.post }[method];
    if (!handler) throw new PageError(405, `This page does not take ${method}.`);
    checkRole(page.readers ?? this.#site.readers, signedIn);
    const [context, services, site] = [this.#context, this.#services, this.#site];
    const isChange = method === 'POST' && !page.changesNothing;
    const make = async () => {
      const scope = await scopeOf(context, signedIn.session);
      if (isChange) checkMayChange(scope, signedIn);
      return handler({ ...request, ...signedIn, context, services, scope, site });
    };
    const inZone = () => inReadersZone(request.incoming, make);
    if (page.streams) return inZone();
    const made = this.#turns.make(callerOf(signedIn.session), inZone);
    return isChange ? made.catch(thrown => this.#againOf(thrown, request, signedIn)) : made;
  }

  /** Keeps what was typed into a form that the store could not take, to be sent again. */
  #againOf(thrown: unknown, { path, query }: DashboardRequest, { form, form_token }: SignedIn): PageResponse {
    const typed = thrown instanceof StoreUnavailable ? typedIn(form) : '';
    const { message: title, response } = this.#errorOf(thrown);
    if (typed === '') return response;
    const again = { title, why: 'Nothing has been changed.', nonce: form.get(nonce_field) ?? '' };
    const action = linkOf(path || '.', Object.fromEntries(query));
    return htmlResponse(503, resumeDocument(action, new URLSearchParams(typed), form_token, again));
  }

  #errorOf(thrown: unknown): PageError {
    if (thrown instanceof PageError) return thrown;
    if (thrown instanceof NotThere)
      return new PageError(404, 'There is no such record.', 'Look for it in its list.');
    if (thrown instanceof RecordRefused)
      return new PageError(422, 'The records store rejected this change.', 'Leave out unusual characters.');
    if (!(thrown instanceof StoreUnavailable)) throw thrown;
    this.#context.log.warn({ err: thrown }, 'records store unavailable to the dashboard');
    const advice = 'Nothing has been changed. Load the page again to retry.';
    return new PageError(503, 'The records store does not answer.', advice);
  }
}

/** The same address without the keys in its query, which would be kept by browsers and logs; undefined if it has none. */
function withoutKeys({ path, query, incoming }: DashboardRequest): string | undefined {
  const fields = [...query];
  const kept = fields.filter(([, value]) => !isStoredKeyForm(value.trim()));
  if (incoming.method === 'POST' || kept.length === fields.length) return undefined;
  return linkOf(path, Object.fromEntries(kept)) || '.';
}

const advice = 'Ask an administrator of this gateway.';

function checkRole(readers: readonly Role[], { session: { role } }: SignedIn): void {
  if (!readers.includes(role)) throw new PageError(403, `This page is not for the role ${role}.`, advice);
}

function checkMayChange({ account, may }: Scope, { session: { role } }: SignedIn): void {
  if (may.change) return;
  if (account)
    throw new PageError(403, 'Your account is disabled.', 'You can look at it, and change nothing.');
  throw new PageError(403, `The role ${role} may not change anything.`, advice);
}

/** Says that there is no page at this path, of any depth. */
function noSuchPage(path: string): PageResponse {
  const root = '../'.repeat(path.split('/').length - 1);
  const advice = 'It may have moved; begin at the overview.';
  return htmlResponse(404, errorDocument(404, 'There is no such page.', advice, root));
}

/** Path below the mount; `undefined` for the mount without its slash, where relative links would not work. */
function placeOf(request: MountedRequest): { path: string | undefined; query: URLSearchParams } {
  const [path = '', query] = (request.url ?? '/').split('?');
  const whole = (request.originalUrl ?? request.url ?? '/').split('?')[0]!;
  const isBare = path === '/' && !whole.endsWith('/');
  return { path: isBare ? undefined : path.slice(1), query: new URLSearchParams(query) };
}

const withSlash = ({ originalUrl, url }: MountedRequest): string =>
  `${(originalUrl ?? url)!.split('?')[0]!.split('/').at(-1)}/`;
