import type { IncomingMessage } from 'node:http';
import type { DashboardContext } from '../dashboard-context.ts';
import { TooManyCalls } from '../gateway-calls.ts';
import { PageError } from '../page-error.ts';
import type { Page, PageRequest } from '../page-request.ts';
import { beginEvents, jsonResponse } from '../page-response.ts';
import { relayReply } from '../relay-reply.ts';
import { html } from '../view/html.ts';
import { answerPanel, askPanel, codePanel } from '../view/playground-parts.ts';
import { pageResponse } from '../view/shell.ts';
import { emptyState } from '../view/table.ts';

/** A prompt that fills most of a context window still fits. */
const max_form_bytes = 4 * 1024 * 1024;
const max_key_characters = 512;
/** Where the record of an answer that has just ended is looked for. */
const newest_rows = 200;

/** A prompt to any model, as a client would send it. The script asks, shows the answer, and keeps the code in step. */
export const playgroundPage: Page = {
  name: 'playground',
  get: async request => {
    const { context } = request;
    const isEmpty = context.catalog.models.length === 0;
    return pageResponse(request, {
      title: 'Playground',
      section: 'playground',
      scripts: isEmpty ? [] : ['copy.js', 'playground.js'],
      beside: html`<span class="muted">Counted, limited and billed as any client's request.</span>`,
      body: isEmpty
        ? html`<section class="panel" aria-label="Playground">${emptyState('There is no model to ask.', html`List some under <code>models</code> in the configuration.`)}</section>`
        : html`<noscript><p class="notice warn">This page needs its script: allow scripts of this address.</p></noscript>
<div class="columns">${askPanel(request, await hasKeys(context))}${answerPanel()}</div>
${codePanel(publicUrlOf(context, request.incoming))}`,
    });
  },
};

/** What the page's script sends: `request`, a JSON body as clients send it, and `key`, which is kept nowhere. Answered in events. */
export const playgroundRunPage: Page = { name: 'playground-run', post: run, max_form_bytes };

async function run(request: PageRequest): Promise<undefined> {
  const { context, form, response, session } = request;
  const [body, key] = [form.get('request') ?? '', (form.get('key') ?? '').trim()];
  if (key.length > max_key_characters || /[^\x21-\x7e]/.test(key))
    throw new PageError(422, 'This is not an API key.', 'Copy it once more, without anything around it.');
  // The browser has left.
  if (response.closed) return;
  const left = new AbortController();
  response.once('close', () => left.abort());
  try {
    const reply = await context.calls.chat({ body, key, signal: left.signal });
    // While the page does not read, no write fails that would show it.
    reply.once('close', () => reply.complete || left.abort());
    const request_id = reply.headers['x-request-id'];
    context.log.info({ operator: session.actor, request_id }, 'an operator asks in the playground');
    beginEvents(response);
    await relayReply(reply, response, context.catalog, left.signal);
  } catch (thrown) {
    if (thrown instanceof TooManyCalls)
      throw new PageError(429, `${thrown.max_running} answers are being streamed already.`, 'Wait for one.');
    if (!response.headersSent) throw thrown;
    if (!left.signal.aborted) context.log.warn({ err: thrown }, 'an answer in the playground broke off');
    // A page that is still there must not take this for the end.
    response.destroy();
  } finally {
    left.abort();
  }
}

/** Asked by the script when an answer has ended: what the ledger says of request `id`, which is `null` until that is written. */
export const playgroundRecordPage: Page = {
  name: 'playground-record',
  get: async ({ context, query }) => {
    const rows = await context.records.store.ledger.list({ limit: newest_rows });
    return jsonResponse(rows.find(({ request_id }) => request_id === query.get('id')) ?? null);
  },
};

/** Whether any key exists. */
async function hasKeys({ settings, records }: DashboardContext): Promise<boolean> {
  const configured = Object.values(settings.accounts).some(({ keys }) => keys.length > 0);
  return configured || (await records.store.keys.list({ limit: 1 })).length > 0;
}

/** Where clients reach the gateway. One that listens on all addresses is reached at that of the dashboard; an unknown one is left to the script. */
function publicUrlOf(context: DashboardContext, { headers }: IncomingMessage): string {
  const known = context.publicUrl();
  if (known === undefined || !URL.canParse(known)) return '';
  const url = new URL(known);
  const here = `http://${headers.host}`;
  if (['0.0.0.0', '[::]'].includes(url.hostname) && URL.canParse(here)) url.hostname = new URL(here).hostname;
  return url.href.replace(/\/+$/, '');
}
