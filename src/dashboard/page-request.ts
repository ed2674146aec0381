import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Parts } from '../assemble.ts';
import type { Operator } from '../stores/records/audit-log.ts';
import type { Session } from './access/sessions.ts';
import type { GatewayCalls } from './gateway-calls.ts';
import { type PageResponse, redirect } from './page-response.ts';

/** Data and actions for the pages. */
export interface DashboardContext extends Parts {
  /** Number of exchanges that have begun and are not settled. */
  inFlight(): number;
  /** Calls the gateway as a client. */
  readonly calls: GatewayCalls;
  /** URL for clients, if known. */
  publicUrl(): string | undefined;
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
}

/** One request of a signed-in operator. */
export interface PageRequest extends DashboardRequest, SignedIn {
  readonly context: DashboardContext;
}

type Handler = (request: PageRequest) => PageResponse | undefined | Promise<PageResponse | undefined>;

/** A page with its name. Pages are one level deep, so that links are the same wherever the dashboard is mounted. */
export interface Page {
  readonly name: string;
  readonly get?: Handler;
  /** Called for forms of this dashboard only. */
  readonly post?: Handler;
  /** Maximum size of a form; the default fits the fields of ordinary forms. */
  readonly max_form_bytes?: number;
}

/** Author and time of a change, for the audit log. */
export const operatorOf = ({ session, context }: PageRequest): Operator => ({
  actor: session.actor,
  at_ms: context.clock.epoch_ms(),
});

/** Ends a change of the records: this instance follows at once; then `page` shows `notice`. */
export async function changed(
  { context, session }: PageRequest,
  page: string,
  notice?: string,
): Promise<PageResponse> {
  await context.records.refresh();
  session.notice = notice;
  return redirect(page);
}
