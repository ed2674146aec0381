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

/** Enough for a prompt that fills most of a context window. */
const max_form_bytes = 4 * 1024 * 1024;
const max_key_characters = 512;
/** Newest records that are searched for an answer that has just ended. */
const newest_rows = 200;

/** Sends a prompt to any model, as a client would. The script sends it, shows the answer, and keeps the code sample in step. */
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

/** Takes from the script `request`, a JSON body as clients send it, and `key`, which is not stored. Answers in events. */
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
    // A write would not reveal this while the page does not read.
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
    // A page that is still open must not take this for a regular end.
    response.destroy();
  } finally {
    left.abort();
  }
}

/** Returns the ledger's row of request `id` to the script when an answer has ended; `null` until it is written. */
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

/** URL for clients. If the gateway listens on all addresses, the dashboard's host; if it is unknown, the script decides. */
function publicUrlOf(context: DashboardContext, { headers }: IncomingMessage): string {
  const known = context.publicUrl();
  if (known === undefined || !URL.canParse(known)) return '';
  const url = new URL(known);
  const here = `http://${headers.host}`;
  if (['0.0.0.0', '[::]'].includes(url.hostname) && URL.canParse(here)) url.hostname = new URL(here).hostname;
  return url.href.replace(/\/+$/, '');
}
