import { findAccount } from '../account-view.ts';
import type { Page, PageRequest } from '../page-request.ts';
import { PageError, type PageResponse, redirect } from '../page-response.ts';
import { linkOf } from '../view/format.ts';
import { type Html, html } from '../view/html.ts';
import { pageResponse, panel, postForm } from '../view/shell.ts';
import { issueOnce, nonceInput } from './issued.ts';

const day_ms = 86_400_000;
const max_name = 200;

/** Lifetimes of a key that the form offers. */
export const lifetimes = new Map([
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
${nonceInput()}
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
  const { context, form, query } = request;
  const account = query.get('account') ?? '';
  const { source = 'application' } = (await findAccount(context, account)) ?? {};
  // A key of an account that only the application knows would be refused.
  if (source === 'application') throw new PageError(404, `There is no account “${account}”.`);
  const name = (form.get('name') ?? '').trim();
  const expires = form.get('expires') ?? 'never';
  const again = (fault: string) => {
    const body = issueForm(request, account, name, expires);
    return pageResponse(request, { title: account, section: 'accounts', fault, body });
  };
  if (name.length > max_name) return again(`A name has ${max_name} characters at most.`);
  const lifetime = lifetimes.get(expires);
  if (!lifetime) return again(`“${expires}” is not a lifetime of keys.`);
  const issued = await issueOnce(request, operator => {
    const expires_ms = lifetime.ms === undefined ? null : operator.at_ms + lifetime.ms;
    return context.records.store.keys.create({ account, name, expires_ms }, operator);
  });
  return issued ?? again('This form has issued a key already. Send it again to issue another one.');
}
