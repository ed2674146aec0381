import { digestOfKey } from '../../stores/accounts/accounts.ts';
import { NotThere } from '../../stores/records/account-records.ts';
import { type AccountView, findAccount, usesOf } from '../account-view.ts';
import { PageError } from '../page-error.ts';
import { operatorOf, type Page, type PageRequest } from '../page-request.ts';
import { type PageResponse, redirect } from '../page-response.ts';
import { linkOf, timeOf } from '../view/format.ts';
import { type Html, html } from '../view/html.ts';
import { keyTable } from '../view/key-table.ts';
import { limitBars } from '../view/limit-bars.ts';
import { page_rows, pageOf } from '../view/pager.ts';
import { pageResponse, postForm } from '../view/shell.ts';
import { emptyState } from '../view/table.ts';
import { inMemoryNotice } from './in-memory-notice.ts';
import { issueForm } from './issue.ts';
import { planSelect } from './plan-select.ts';

/** One account: current usage of its limits, its keys, and what can be changed. */
export const accountPage: Page = {
  name: 'account',
  get: async request => shown(request, await accountOf(request)),
  post: changePlan,
};

/** The account of a page's query. Throws a PageError if there is none. */
export async function accountOf({ context, query }: PageRequest): Promise<AccountView> {
  const id = query.get('id') ?? '';
  const found = await findAccount(context, id);
  if (!found)
    throw new PageError(404, `There is no account “${id}”.`, 'Look for it in the list of accounts.');
  return found;
}

async function shown(request: PageRequest, account: AccountView, fault?: string): Promise<PageResponse> {
  const { context } = request;
  const usable_at_ms = context.clock.epoch_ms();
  const [uses, keys] = await Promise.all([
    usesOf(context, account),
    context.records.store.keys.list({ account: account.id, usable_at_ms, limit: page_rows + 1 }),
  ]);
  const page = pageOf(keys);
  return pageResponse(request, {
    title: account.id,
    section: 'accounts',
    fault,
    body: html`${inMemoryNotice(context)}
<div class="columns">
<section class="panel" aria-labelledby="limits"><h2 id="limits">Current usage</h2>${limitBars(uses)}</section>
<section class="panel" aria-labelledby="account"><h2 id="account">Account</h2>${facts(account)}${planForm(request, account)}</section>
</div>
<section class="panel" aria-labelledby="keys"><h2 id="keys">Active keys</h2>
${
  page.shown.length === 0
    ? emptyState('This account has no active key.', 'Issue one below.')
    : keyTable('Active keys of this account', page.shown, usable_at_ms, 'of one account')
}
<p><a href="${linkOf('keys', { account: account.id, all: 'yes' })}">All keys of this account, also expired and revoked ones</a></p>
${account.isConfigured && configuredKeys(request, account.id)}
</section>
${issueForm(request, account.id)}`,
  });
}

function facts({ plan, limits, isConfigured, created_ms }: AccountView): Html {
  const own = Object.keys(limits).length > 0;
  return html`<dl>
<dt>Plan</dt><dd>${plan ?? html`<span class="muted">none</span>`}</dd>
${own && html`<dt>Overrides</dt><dd><code>${JSON.stringify(limits)}</code></dd>`}
<dt>Source</dt><dd>${isConfigured ? 'the configuration, where it is changed' : 'the records store'}</dd>
${created_ms !== undefined && html`<dt>Created</dt><dd>${timeOf(created_ms)}</dd>`}
</dl>`;
}

function planForm(request: PageRequest, { id, plan, isConfigured }: AccountView): Html | undefined {
  if (isConfigured) return undefined;
  if (Object.keys(request.context.settings.plans).length === 0)
    return html`<p class="muted">There are no plans to choose from: add some under <code>plans</code> in the configuration.</p>`;
  const fields = html`${planSelect(request.context, plan ?? '')}<button>Change plan</button>`;
  return postForm(request, linkOf('account', { id }), fields, 'row');
}

/** Lists configured keys by the beginnings of their digests; the keys are in the configuration, and are removed there. */
function configuredKeys({ context }: PageRequest, id: string): Html | undefined {
  const digests = context.settings.accounts[id]!.keys.map(digestOfKey);
  if (digests.length === 0) return undefined;
  return html`<h3>Keys in the configuration</h3>
<ul>${digests.map(digest => html`<li>SHA-256 <code>${digest.slice(0, 12)}…</code></li>`)}</ul>
<p class="muted">They are added and removed in the configuration file.</p>`;
}

async function changePlan(request: PageRequest): Promise<PageResponse> {
  const { context, form, session } = request;
  const account = await accountOf(request);
  const plan = form.get('plan') || null;
  if (account.isConfigured)
    return shown(request, account, 'This account is changed in the configuration file.');
  if (plan !== null && !Object.hasOwn(context.settings.plans, plan))
    return shown(request, account, `There is no plan “${plan}” in the configuration.`);
  const { id } = account;
  if (plan !== (account.plan ?? null)) {
    await context.records.store.accounts.change(id, { plan }, operatorOf(request)).catch((thrown): never => {
      throw thrown instanceof NotThere ? new PageError(404, `There is no account “${id}”.`) : thrown;
    });
    await context.records.refresh();
    session.notice = `The plan is ${plan ?? 'none'} now; every instance follows within 5 seconds.`;
  }
  return redirect(linkOf('account', { id }));
}
