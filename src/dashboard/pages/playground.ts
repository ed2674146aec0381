import type { IncomingMessage } from 'node:http';
import { seesMoney } from '../access/roles.ts';
import type { DashboardContext, Page, PageRequest } from '../page-request.ts';
import { tokenInput } from '../view/document.ts';
import { muted } from '../view/format.ts';
import { type Html, html } from '../view/html.ts';
import { playgroundScripts, playgroundView } from '../view/playground.ts';
import { pageResponse } from '../view/shell.ts';
import { emptyState } from '../view/table.ts';

/** Conversations with any model, or with two side by side, as a client has them. */
export const playgroundPage: Page = {
  name: 'playground',
  get: async request => {
    const isEmpty = request.context.catalog.models.length === 0;
    return pageResponse(request, {
      title: 'Playground',
      section: 'playground',
      scripts: isEmpty ? [] : playgroundScripts,
      beside: muted("Counted, limited and billed as any client's request."),
      body: isEmpty ? noModels : await playgroundOf(request),
    });
  },
};

const noModels = html`<section class="panel" aria-label="Playground">${emptyState('There is no model to ask.', html`List some under <code>models</code> in the configuration.`)}</section>`;

async function playgroundOf({ context, query, session, form_token, incoming }: PageRequest): Promise<Html> {
  const needsKey = context.settings.stages.some(({ authenticates }) => authenticates);
  return playgroundView({
    models: context.catalog.models,
    chosen: query.get('model'),
    tokenInput: tokenInput(form_token),
    key_hint: needsKey ? html`None at hand? Issue one under <a href="accounts">Accounts</a>.` : undefined,
    notice: needsKey && !(await hasKeys(context)) && noKeyYet,
    public_url: publicUrlOf(context, incoming),
    seesMoney: seesMoney(session.role),
    request_page: 'request?id=',
  });
}

const noKeyYet = html`<p class="notice warn">No key has been issued yet: <a href="accounts">create an account</a> and issue one.</p>`;

async function hasKeys({ settings, records }: DashboardContext): Promise<boolean> {
  const configured = Object.values(settings.accounts).some(({ keys }) => keys.length > 0);
  return configured || (await records.store.keys.list({ limit: 1 })).length > 0;
}

/** URL for clients. If the gateway listens on all addresses, the dashboard's host; if it is unknown, empty: the script decides. */
export function publicUrlOf(context: DashboardContext, { headers }: IncomingMessage): string {
  const known = context.publicUrl();
  if (known === undefined || !URL.canParse(known)) return '';
  const url = new URL(known);
  const here = `http://${headers.host}`;
  if (['0.0.0.0', '[::]'].includes(url.hostname) && URL.canParse(here)) url.hostname = new URL(here).hostname;
  return url.href.replace(/\/+$/, '');
}
