import type { IncomingMessage, ServerResponse } from 'node:http';
import { type ExtensionContext, hashKey, type Operator } from '../../src/plugin.ts';
import { customerName, type Role } from './access/roles.ts';
import type { SealedCookies } from './access/sealed-cookies.ts';
import type { Session } from './access/sessions.ts';
import type { SignInMemory } from './access/sign-in-memory.ts';
import type { GatewayCalls } from './gateway-calls.ts';
import type { LiveStreams } from './live-streams.ts';
import { type PageResponse, redirect } from './page-response.ts';
import type { Scope } from './scope.ts';

/** What a set of pages has beside the gateway. */
export interface Services {
  /** What it remembers of its people. */
  readonly signIns: SignInMemory;
  /** Calls the gateway as a client. */
  readonly calls: GatewayCalls;
  /** Streams of open pages. */
  readonly live: LiveStreams;
}

/** One request to the dashboard. */
export interface DashboardRequest {
  /** Path below the mount: `keys` for `/dashboard/keys`. All links of pages are relative to it: `account?id=…`. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly incoming: IncomingMessage;
  /** Response, for pages that stream; such a page returns nothing. */
  readonly response: ServerResponse;
}

/** Additions to a request by its session. */
export interface SignedIn {
  readonly session: Session;
  /** Fields of a posted form; otherwise empty. */
  readonly form: URLSearchParams;
  /** CSRF token for the hidden field of forms. */
  readonly form_token: string;
  /** The browser's network address. */
  readonly address: string;
  /** Texts for the next page. */
  readonly cookies: SealedCookies;
  /** Ends all sessions of this person and starts another for this browser, with a new credential. Returns its cookies. */
  readonly renew: (credential: string) => Promise<SealedCookies>;
  /** Why the present password that a change needs is not accepted; undefined if it is. Wrong ones are slowed down as at the sign-in. */
  readonly confirm: (password: string) => Promise<string | undefined>;
  /** Whether the session is still valid, for pages that stream. */
  readonly isOpen: () => Promise<boolean>;
  /** False for those whom the application or a proxy names: they would be let in again at once. */
  readonly canSignOut: boolean;
}

/** One request of a signed-in person. */
export interface PageRequest extends DashboardRequest, SignedIn {
  readonly context: ExtensionContext;
  readonly services: Services;
  readonly scope: Scope;
  /** What the pages that it belongs to have in common. */
  readonly site: Site;
}

/** A set of pages: the operators' dashboard, or the customers' portal. */
export interface Site {
  /** Shown beside the product's name. */
  readonly title?: string;
  /** The page about the own sign-in, which the reader's name leads to. */
  readonly profile?: string;
  /** Who may use its pages. */
  readonly readers: readonly Role[];
  /** Pages in the navigation. */
  readonly sections: readonly Section[];
}

interface Section {
  readonly page: string;
  readonly label: string;
  /** Who sees it; the default is everybody. */
  readonly readers?: readonly Role[];
}

type Handler = (request: PageRequest) => PageResponse | undefined | Promise<PageResponse | undefined>;

/** A page with its name. Pages are one level deep, so that links are the same wherever the dashboard is mounted. */
export interface Page {
  readonly name: string;
  readonly get?: Handler;
  /** Called for forms of this dashboard only, and only for people who may change something. */
  readonly post?: Handler;
  /** Who may use it; the default is everybody who may use pages of its site. */
  readonly readers?: readonly Role[];
  /** True if its form changes nothing, so that viewers may send it as well. */
  readonly changesNothing?: boolean;
  /** True if its answer goes on for a while: it is bounded by itself. */
  readonly streams?: boolean;
  /** Maximum size of a form; the default fits the fields of ordinary forms. */
  readonly max_form_bytes?: number;
}

/** Who makes a change, from where and when, for the audit log. */
export const operatorOf = ({ session, address, context }: PageRequest): Operator => ({
  actor: session.role === 'customer' ? customerName(session.actor) : session.actor,
  address,
  at_ms: context.clock.epoch_ms(),
});

/** The name of the cookie that leaves a notice for a page, which belongs to that page only. */
const noticeCookie = (page: string, query: string): string =>
  `sluice_notice_${hashKey(`${page}?${new URLSearchParams(query)}`).slice(0, 16)}`;

/** Ends a change of the records: this instance follows at once; then `page` shows `notice`. */
export async function changed(request: PageRequest, page: string, notice?: string): Promise<PageResponse> {
  await request.context.records.refresh();
  const [name = '', query = ''] = page.split('?');
  if (notice !== undefined) request.cookies.put(noticeCookie(name, query), notice.slice(0, 1000));
  return redirect(page);
}

/** The notice that was left for this page, once. */
export function takeNotice({ cookies, incoming, path, query }: PageRequest): string | undefined {
  return incoming.method === 'GET' ? cookies.take(noticeCookie(path, query.toString())) : undefined;
}
