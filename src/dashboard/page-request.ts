import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Session } from './access/sessions.ts';
import type { Answer } from './answer.ts';
import type { DashboardContext } from './dashboard-context.ts';

/** One request of somebody who is signed in. */
export interface Visit {
  readonly desk: DashboardContext;
  readonly session: Session;
  /** The page's own name: `keys` for `/dashboard/keys`. All links of pages are relative to it: `account?id=…`. */
  readonly page: string;
  readonly query: URLSearchParams;
  /** The fields of a form; empty for what was not posted. */
  readonly form: URLSearchParams;
  /** For the hidden field of forms. */
  readonly form_token: string;
  /** For what is answered in pieces; a page that writes here returns no answer. */
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

type Answering = (visit: Visit) => Answer | undefined | Promise<Answer | undefined>;

/** What is served under one name. Pages are one level deep, so that their links are the same wherever the dashboard is mounted. */
export interface Page {
  readonly name: string;
  readonly get?: Answering;
  /** Only ever called for forms of this dashboard. */
  readonly post?: Answering;
  /** How large a form it takes; without it as much as the fields of ordinary forms need. */
  readonly max_form_bytes?: number;
}
