import type { IncomingMessage } from 'node:http';
import type { ExtensionContext } from '../../../src/plugin.ts';
import { chatModelsInScope } from '../models-in-scope.ts';
import type { Page, PageRequest } from '../page-request.ts';
import type { PageResponse } from '../page-response.ts';
import { tokenInput } from '../view/document.ts';
import { muted } from '../view/format.ts';
import { html } from '../view/html.ts';
import { playgroundView } from '../view/playground.ts';
import { pageResponse } from '../view/shell.ts';
import { noModels } from './models.ts';

/** Conversations with the models that the reader may use, or with two side by side, as a client has them. */
export const playgroundPage: Page = { name: 'playground', get: shown };

/** What it sends has the rights of a key; of the reader's scope depends whether costs are shown. */
async function shown(request: PageRequest): Promise<PageResponse> {
  const { context, query, scope, form_token } = request;
  const models = await chatModelsInScope(request);
  const page = { title: 'Playground', section: 'playground' };
  if (models.length === 0) return pageResponse(request, { ...page, body: noModels(scope) });
  const needsKey = context.settings.stages.some(({ authenticates }) => authenticates);
  const key_hint = scope.account
    ? html`None at hand? <a href="keys">Issue one</a>.`
    : html`None at hand? Issue one under <a href="accounts">Accounts</a>.`;
  return pageResponse(request, {
    ...page,
    scripts: ['playground.js'],
    beside: muted("Counted, limited and billed as any client's request."),
    body: playgroundView({
      models,
      chosen: query.get('model'),
      tokenInput: tokenInput(form_token),
      key_hint: needsKey ? key_hint : undefined,
      notice: needsKey && !scope.account && !(await hasKeys(context)) && noKeyYet,
      seesMoney: scope.sees.money,
    }),
  });
}

const noKeyYet = html`<p class="notice warn">No key has been issued yet: <a href="accounts">create an account</a> and issue one.</p>`;

async function hasKeys({ settings, records }: ExtensionContext): Promise<boolean> {
  const configured = Object.values(settings.accounts).some(({ keys }) => keys.length > 0);
  return configured || (await records.store.keys.list({ limit: 1 })).length > 0;
}

/** URL for clients. If the gateway listens on all addresses, the dashboard's host; if it is unknown, empty: the script decides. */
export function publicUrlOf(context: ExtensionContext, { headers }: IncomingMessage): string {
  const known = context.publicUrl();
  if (known === undefined || !URL.canParse(known)) return '';
  const url = new URL(known);
  const here = `http://${headers.host}`;
  if (['0.0.0.0', '[::]'].includes(url.hostname) && URL.canParse(here)) url.hostname = new URL(here).hostname;
  return url.href.replace(/\/+$/, '');
}
