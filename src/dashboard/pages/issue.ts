import { findAccount } from '../account-view.ts';
import { type Answer, redirect } from '../answer.ts';
import { operatorOf } from '../operator.ts';
import type { Page, Visit } from '../page-request.ts';
import { Refusal } from '../refusal.ts';
import { linkOf, timeOf } from '../view/format.ts';
import { type Html, html } from '../view/html.ts';
import { pageAnswer, postForm } from '../view/shell.ts';
import { inMemoryNotice } from './in-memory-notice.ts';

const day_ms = 86_400_000;
const max_name = 200;

/** How long a key may last, as the form offers it. */
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
export function issueForm(visit: Visit, account: string, { name = '', expires = 'never' }: Given = {}): Html {
  return html`<section class="panel" aria-labelledby="issue"><h2 id="issue">Issue a key</h2>
${postForm(
  visit,
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

/** Issues a key, which the next page shows; so that loading that page again issues no second one. */
export const issuePage: Page = {
  name: 'issue',
  get: ({ query }) => redirect(linkOf('account', { id: query.get('account') ?? '' })),
  post: issue,
};

async function issue(visit: Visit): Promise<Answer> {
  const { desk, form, query, session } = visit;
  const account = query.get('account') ?? '';
  if (!(await findAccount(desk, account))) throw new Refusal(404, `There is no account “${account}”.`);
  const name = (form.get('name') ?? '').trim();
  const expires = form.get('expires') ?? 'never';
  if (name.length > max_name || !isLifetime(expires)) {
    const fault =
      name.length > max_name
        ? `A name has ${max_name} characters at most.`
        : `“${expires}” is no time to expire at.`;
    const body = issueForm(visit, account, { name, expires });
    return pageAnswer(visit, { title: account, section: 'accounts', fault, body });
  }
  const operator = operatorOf(visit);
  const { ms } = lifetimes[expires];
  const expires_ms = ms === undefined ? null : operator.at_ms + ms;
  const { key, record } = await desk.records.store.keys.create({ account, name, expires_ms }, operator);
  await desk.records.refresh();
  session.issued = { id: record.id, key };
  return redirect(linkOf('issued', { id: record.id }));
}

/** Shows a key that has just been issued, once. */
export const issuedPage: Page = {
  name: 'issued',
  get: async visit => {
    const { desk, session, query } = visit;
    const id = query.get('id') ?? '';
    const record = await desk.records.store.keys.find(id);
    if (!record) throw new Refusal(404, 'There is no such key.');
    const { account, name, expires_ms } = record;
    const back = html`<p><a href="${linkOf('account', { id: account })}">To the account ${account}</a></p>`;
    const { issued } = session;
    session.issued = undefined;
    if (issued?.id !== id)
      return pageAnswer(visit, {
        title: name || id,
        section: 'keys',
        body: html`<p class="notice warn">A key is shown once, when it is issued, and this one has been. If it was lost, revoke it and issue another.</p>${back}`,
      });
    return pageAnswer(visit, {
      title: 'The new key',
      section: 'keys',
      scripts: ['copy.js'],
      body: html`${inMemoryNotice(desk)}
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
