import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Operator } from '../stores/records/audit-log.ts';
import type { Session } from './access/sessions.ts';
import type { DashboardContext } from './dashboard-context.ts';
import type { PageResponse } from './page-response.ts';

/** One request to the dashboard. */
export interface DashboardRequest {
  /** Below the mount: `keys` for `/dashboard/keys`. All links of pages are relative to it: `account?id=…`. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly incoming: IncomingMessage;
  /** For replies in pieces; a page that writes here returns no response. */
  readonly response: ServerResponse;
}

/** What signing in adds to a request. */
export interface SignedIn {
  readonly session: Session;
  /** The fields of a form; empty for what was not posted. */
  readonly form: URLSearchParams;
  /** For the hidden field of forms. */
  readonly form_token: string;
}

/** One request of a signed-in operator. */
export interface PageRequest extends DashboardRequest, SignedIn {
  readonly context: DashboardContext;
}

type Handler = (request: PageRequest) => PageResponse | undefined | Promise<PageResponse | undefined>;

/** A page under one name. Pages are one level deep, so that their links are the same wherever the dashboard is mounted. */
export interface Page {
  readonly name: string;
  readonly get?: Handler;
  /** Only ever called for forms of this dashboard. */
  readonly post?: Handler;
  /** By default as much as the fields of ordinary forms need. */
  readonly max_form_bytes?: number;
}

/** The author and time of a change, for the audit log. */
export const operatorOf = ({ session, context }: PageRequest): Operator => ({
  actor: session.actor,
  at_ms: context.clock.epoch_ms(),
});
