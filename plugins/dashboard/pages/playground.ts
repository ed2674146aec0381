import type { IncomingMessage } from 'node:http';
import type { ExtensionContext, Model } from '../../../src/plugin.ts';
import type { Page, PageRequest } from '../page-request.ts';
import { tokenInput } from '../view/document.ts';
import { muted } from '../view/format.ts';
import { type Html, html } from '../view/html.ts';
import { playgroundScripts, playgroundView } from '../view/playground.ts';
import { type PageParts, pageResponse } from '../view/shell.ts';
import { emptyState } from '../view/table.ts';

/** What differs between the sets of pages that have a playground. */
interface PlaygroundPlace {
  /** Those that the reader may use; the catalog's by default. */
  readonly models?: readonly Model[];
  /** Where the reader's API key comes from. */
  readonly key_hint: Html;
  /** Shown above the fields, such as that there is no key yet. */
  readonly notice?: Html | false;
  /** Address of the page of one request, to which its id is appended; undefined if the reader has no such page. */
  readonly request_page: string | undefined;
}

/** Conversations with any model, or with two side by side, as a client has them. */
export const playgroundPage: Page = {
  name: 'playground',
  get: async request =>
    pageResponse(
      request,
      playgroundParts(request, {
        key_hint: html`None at hand? Issue one under <a href="accounts">Accounts</a>.`,
        notice: !(await hasKeys(request.context)) && noKeyYet,
        request_page: 'request?id=',
      }),
    ),
};

/**
 * The parts of a playground's page, for operators and customers alike: what it sends has the rights of a key, and of the reader's role depends
 * whether costs are shown. It needs `playgroundRunPage` and `playgroundRecordPage` among the same pages.
 */
export function playgroundParts(request: PageRequest, place: PlaygroundPlace): PageParts {
  const { context, query, scope, form_token } = request;
  const { settings } = context;
  const { models = context.catalog.models } = place;
  const page = { title: 'Playground', section: 'playground' };
  if (models.length === 0) return { ...page, body: noModels };
  const needsKey = settings.stages.some(({ authenticates }) => authenticates);
  return {
    ...page,
    scripts: playgroundScripts,
    beside: muted("Counted, limited and billed as any client's request."),
    body: playgroundView({
      models,
      chosen: query.get('model'),
      tokenInput: tokenInput(form_token),
      key_hint: needsKey ? place.key_hint : undefined,
      notice: needsKey && place.notice,
      seesMoney: scope.sees.money,
      request_page: place.request_page,
    }),
  };
}

const noModels = html`<section class="panel" aria-label="Playground">${emptyState('There is no model to ask.', html`List some under <code>models</code> in the configuration.`)}</section>`;

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
