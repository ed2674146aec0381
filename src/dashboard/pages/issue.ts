import { findAccount } from '../account-view.ts';
import { changed, operatorOf, type Page, type PageRequest } from '../page-request.ts';
import { PageError, type PageResponse, redirect } from '../page-response.ts';
import { linkOf, timeOf } from '../view/format.ts';
import { type Html, html } from '../view/html.ts';
import { inMemoryNotice, pageResponse, panel, postForm } from '../view/shell.ts';
import { keyOf } from './revoke.ts';

const day_ms = 86_400_000;
const max_name = 200;

/** Lifetimes of a key that the form offers. */
const lifetimes = new Map([
  ['never', { label: 'never', ms: undefined }],
  ['day', { label: 'in 24 hours', ms: day_ms }],
  ['week', { label: 'in 7 days', ms: 7 * day_ms }],
  ['month', { label: 'in 30 days', ms: 30 * day_ms }],
  ['quarter', { label: 'in 90 days', ms: 90 * day_ms }],
  ['year', { label: 'in 365 days', ms: 365 * day_ms }],
]);

/** The form that issues a key for an account. */
export function issueForm(request: PageRequest, account: string, name = '', expires = 'never'): Html {
  const fields = html`<label>Name <input name="name" value="${name}" maxlength="${max_name}" placeholder="who or what uses it" autocomplete="off"></label>
<label>Expires <select name="expires">${[...lifetimes].map(
    ([value, { label }]) =>
      html`<option value="${value}" ${value === expires && html`selected`}>${label}</option>\n`,
  )}</select></label>
<button class="primary">Issue key</button>`;
  return panel(
    'issue',
    'Issue a key',
    html`\n${postForm(request, linkOf('issue', { account }), fields, 'row')}\n`,
  );
}

/** Issues a key and redirects to the page that shows it, so that a reload issues no second one. */
export const issuePage: Page = {
  name: 'issue',
  get: ({ query }) => redirect(linkOf('account', { id: query.get('account') ?? '' })),
  post: issue,
};

async function issue(request: PageRequest): Promise<PageResponse> {
  const { context, form, query, session } = request;
  const account = query.get('account') ?? '';
  const { source = 'application' } = (await findAccount(context, account)) ?? {};
  // A key of an account that only the application knows would be refused.
  if (source === 'application') throw new PageError(404, `There is no account “${account}”.`);
  const name = (form.get('name') ?? '').trim();
  const expires = form.get('expires') ?? 'never';
  const lifetime = lifetimes.get(expires);
  if (name.length > max_name || !lifetime) {
    const fault = lifetime
      ? `A name has ${max_name} characters at most.`
      : `“${expires}” is not a lifetime of keys.`;
    const body = issueForm(request, account, name, expires);
    return pageResponse(request, { title: account, section: 'accounts', fault, body });
  }
  const operator = operatorOf(request);
  const expires_ms = lifetime.ms === undefined ? null : operator.at_ms + lifetime.ms;
  const { key, record } = await context.records.store.keys.create({ account, name, expires_ms }, operator);
  session.issued = { id: record.id, key };
  return changed(request, linkOf('issued', { id: record.id }));
}

/** Shows a newly issued key, once. */
export const issuedPage: Page = { name: 'issued', get: issued };

async function issued(request: PageRequest): Promise<PageResponse> {
  const { context, session } = request;
  const { id, account, name, expires_ms } = await keyOf(request);
  const back = html`<p><a href="${linkOf('account', { id: account })}">To the account ${account}</a></p>`;
  const key = session.issued?.id === id && session.issued.key;
  session.issued = undefined;
  if (!key)
    return pageResponse(request, {
      title: name || id,
      section: 'keys',
      body: html`<p class="notice warn">A key is shown once, when it is issued, and this one has been. If it was lost, revoke it and issue another.</p>${back}`,
    });
  return pageResponse(request, {
    title: 'The new key',
    section: 'keys',
    scripts: ['copy.js'],
    body: html`${inMemoryNotice(context)}
<section class="panel" aria-labelledby="key"><h2 id="key">${name || id}</h2>
<p>Copy it now: it cannot be shown again. Only its SHA-256 is kept.</p>
<p><code class="secret" id="secret">${key}</code></p>
<p><button class="primary" data-copy="secret" hidden>Copy key</button></p>
<dl><dt>Account</dt><dd>${account}</dd><dt>Id</dt><dd><code>${id}</code></dd>
<dt>Expires</dt><dd>${timeOf(expires_ms)}</dd></dl>
<p>Copied? Try it in the <a href="playground">playground</a>.</p>
${back}
</section>`,
  });
}
