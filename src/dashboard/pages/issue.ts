import { findAccount } from '../account-view.ts';
import { PageError } from '../page-error.ts';
import { operatorOf, type Page, type PageRequest } from '../page-request.ts';
import { type PageResponse, redirect } from '../page-response.ts';
import { linkOf, timeOf } from '../view/format.ts';
import { type Html, html } from '../view/html.ts';
import { pageResponse, postForm } from '../view/shell.ts';
import { inMemoryNotice } from './in-memory-notice.ts';

const day_ms = 86_400_000;
const max_name = 200;

/** Lifetimes of a key that the form offers. */
const lifetimes = {
  never: { label: 'never', ms: undefined },
  day: { label: 'in 24 hours', ms: day_ms },
  week: { label: 'in 7 days', ms: 7 * day_ms },
  month: { label: 'in 30 days', ms: 30 * day_ms },
  quarter: { label: 'in 90 days', ms: 90 * day_ms },
  year: { label: 'in 365 days', ms: 365 * day_ms },
} as const;

const isLifetime = (name: string): name is keyof typeof lifetimes => Object.hasOwn(lifetimes, name);

interface Given {
  readonly name?: string;
  readonly expires?: string;
}

/** The form that issues a key for an account. */
export function issueForm(
  request: PageRequest,
  account: string,
  { name = '', expires = 'never' }: Given = {},
): Html {
  return html`<section class="panel" aria-labelledby="issue"><h2 id="issue">Issue a key</h2>
${postForm(
  request,
  linkOf('issue', { account }),
  html`<label>Name <input name="name" value="${name}" maxlength="${max_name}" placeholder="who or what uses it" autocomplete="off"></label>
<label>Expires <select name="expires">${Object.entries(lifetimes).map(
    ([value, { label }]) =>
      html`<option value="${value}" ${value === expires && html`selected`}>${label}</option>\n`,
  )}</select></label>
<button class="primary">Issue key</button>`,
  'row',
)}
</section>`;
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
  if (!(await findAccount(context, account))) throw new PageError(404, `There is no account “${account}”.`);
  const name = (form.get('name') ?? '').trim();
  const expires = form.get('expires') ?? 'never';
  if (name.length > max_name || !isLifetime(expires)) {
    const fault =
      name.length > max_name
        ? `A name has ${max_name} characters at most.`
        : `“${expires}” is not a lifetime of keys.`;
    const body = issueForm(request, account, { name, expires });
    return pageResponse(request, { title: account, section: 'accounts', fault, body });
  }
  const operator = operatorOf(request);
  const { ms } = lifetimes[expires];
  const expires_ms = ms === undefined ? null : operator.at_ms + ms;
  const { key, record } = await context.records.store.keys.create({ account, name, expires_ms }, operator);
  await context.records.refresh();
  session.issued = { id: record.id, key };
  return redirect(linkOf('issued', { id: record.id }));
}

/** Shows a newly issued key, once. */
export const issuedPage: Page = {
  name: 'issued',
  get: async request => {
    const { context, session, query } = request;
    const id = query.get('id') ?? '';
    const record = await context.records.store.keys.find(id);
    if (!record) throw new PageError(404, 'There is no such key.');
    const { account, name, expires_ms } = record;
    const back = html`<p><a href="${linkOf('account', { id: account })}">To the account ${account}</a></p>`;
    const { issued } = session;
    session.issued = undefined;
    if (issued?.id !== id)
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
<p><code class="secret" id="secret">${issued.key}</code></p>
<p><button class="primary" data-copy="secret" hidden>Copy key</button></p>
<dl><dt>Account</dt><dd>${account}</dd><dt>Id</dt><dd><code>${id}</code></dd>
<dt>Expires</dt><dd>${expires_ms === null ? 'never' : timeOf(expires_ms)}</dd></dl>
<p>Copied? Try it in the <a href="playground">playground</a>.</p>
${back}
</section>`,
    });
  },
};
