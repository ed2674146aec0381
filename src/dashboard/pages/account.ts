import { digestOfKey } from '../../stores/accounts/accounts.ts';
import { NotThere } from '../../stores/records/account-records.ts';
import { type AccountView, findAccount, usesOf } from '../account-view.ts';
import { type Answer, redirect } from '../answer.ts';
import { operatorOf } from '../operator.ts';
import type { Page, Visit } from '../page-request.ts';
import { Refusal } from '../refusal.ts';
import { linkOf, timeOf } from '../view/format.ts';
import { type Html, html } from '../view/html.ts';
import { keyTable } from '../view/key-table.ts';
import { limitBars } from '../view/limit-bars.ts';
import { page_rows, pageOf } from '../view/pager.ts';
import { pageAnswer, postForm } from '../view/shell.ts';
import { emptyState } from '../view/table.ts';
import { inMemoryNotice } from './in-memory-notice.ts';
import { issueForm } from './issue.ts';
import { planSelect } from './plan-select.ts';

/** One account: what it uses of its limits, its keys, and what can be changed. */
export const accountPage: Page = {
  name: 'account',
  get: async visit => shown(visit, await accountOf(visit)),
  post: changePlan,
};

/** The account that a page is about. Throws a Refusal for one that is not there. */
export async function accountOf({ desk, query }: Visit): Promise<AccountView> {
  const id = query.get('id') ?? '';
  const found = await findAccount(desk, id);
  if (!found) throw new Refusal(404, `There is no account “${id}”.`, 'Look for it in the list of accounts.');
  return found;
}

async function shown(visit: Visit, account: AccountView, fault?: string): Promise<Answer> {
  const { desk } = visit;
  const usable_at_ms = desk.clock.epoch_ms();
  const [uses, keys] = await Promise.all([
    usesOf(desk, account),
    desk.records.store.keys.list({ account: account.id, usable_at_ms, limit: page_rows + 1 }),
  ]);
  const page = pageOf(keys);
  return pageAnswer(visit, {
    title: account.id,
    section: 'accounts',
    fault,
    body: html`${inMemoryNotice(desk)}
<div class="columns">
<section class="panel" aria-labelledby="limits"><h2 id="limits">Use of its limits, now</h2>${limitBars(uses)}</section>
<section class="panel" aria-labelledby="account"><h2 id="account">Account</h2>${facts(account)}${planForm(visit, account)}</section>
</div>
<section class="panel" aria-labelledby="keys"><h2 id="keys">Usable keys</h2>
${
  page.shown.length === 0
    ? emptyState('No key of this account can be used.', 'Issue one below.')
    : keyTable('Usable keys of this account', page.shown, usable_at_ms, 'of one account')
}
<p><a href="${linkOf('keys', { account: account.id, all: 'yes' })}">All keys of this account, also expired and revoked ones</a></p>
${account.isConfigured && configuredKeys(visit, account.id)}
</section>
${issueForm(visit, account.id)}`,
  });
}

function facts({ plan, limits, isConfigured, created_ms }: AccountView): Html {
  const own = Object.keys(limits).length > 0;
  return html`<dl>
<dt>Plan</dt><dd>${plan ?? html`<span class="muted">none</span>`}</dd>
${own && html`<dt>Limits of its own</dt><dd><code>${JSON.stringify(limits)}</code></dd>`}
<dt>From</dt><dd>${isConfigured ? 'the configuration, where it is changed' : 'the records store'}</dd>
${created_ms !== undefined && html`<dt>Created</dt><dd>${timeOf(created_ms)}</dd>`}
</dl>`;
}

function planForm(visit: Visit, { id, plan, isConfigured }: AccountView): Html | undefined {
  if (isConfigured) return undefined;
  if (Object.keys(visit.desk.settings.plans).length === 0)
    return html`<p class="muted">There are no plans to choose from: add some under <code>plans</code> in the configuration.</p>`;
  const fields = html`${planSelect(visit.desk, plan ?? '')}<button>Change plan</button>`;
  return postForm(visit, linkOf('account', { id }), fields, 'row');
}

/** By the beginnings of their digests: their texts are in the configuration, where they end. */
function configuredKeys({ desk }: Visit, id: string): Html | undefined {
  const digests = desk.settings.accounts[id]!.keys.map(digestOfKey);
  if (digests.length === 0) return undefined;
  return html`<h3>Keys in the configuration</h3>
<ul>${digests.map(digest => html`<li>SHA-256 <code>${digest.slice(0, 12)}…</code></li>`)}</ul>
<p class="muted">They are added and removed in the configuration file.</p>`;
}

async function changePlan(visit: Visit): Promise<Answer> {
  const { desk, form, session } = visit;
  const account = await accountOf(visit);
  const plan = form.get('plan') || null;
  if (account.isConfigured)
    return shown(visit, account, 'This account is changed in the configuration file.');
  if (plan !== null && !Object.hasOwn(desk.settings.plans, plan))
    return shown(visit, account, `There is no plan “${plan}” in the configuration.`);
  const { id } = account;
  if (plan !== (account.plan ?? null)) {
    await desk.records.store.accounts.change(id, { plan }, operatorOf(visit)).catch((thrown): never => {
      throw thrown instanceof NotThere ? new Refusal(404, `There is no account “${id}”.`) : thrown;
    });
    await desk.records.refresh();
    session.notice = `The plan is ${plan ?? 'none'} now; every instance follows within 5 seconds.`;
  }
  return redirect(linkOf('account', { id }));
}
