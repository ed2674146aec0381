import { digestOfKey } from '../../stores/accounts/accounts.ts';
import { type AccountView, findAccount, usesOf } from '../account-view.ts';
import { changed, operatorOf, type Page, type PageRequest } from '../page-request.ts';
import { PageError, type PageResponse, redirect } from '../page-response.ts';
import { linkOf, muted, timeOf } from '../view/format.ts';
import { type Html, html, type Part } from '../view/html.ts';
import { keyTable, usesOfKeys } from '../view/key-table.ts';
import { limitBars } from '../view/limit-bars.ts';
import { page_rows } from '../view/pager.ts';
import { inMemoryNotice, pageResponse, panel, postForm } from '../view/shell.ts';
import { emptyState } from '../view/table.ts';
import { issueForm } from './issue.ts';

/** One account: current usage of its limits, its keys, and what can be changed. */
export const accountPage: Page = {
  name: 'account',
  get: async request => shown(request, await accountOf(request)),
  post: changePlan,
};

async function accountOf({ context, query }: PageRequest): Promise<AccountView> {
  const id = query.get('id') ?? '';
  const found = await findAccount(context, id);
  if (found) return found;
  throw new PageError(404, `There is no account “${id}”.`, 'Look for it in the list of accounts.');
}

async function shown(request: PageRequest, account: AccountView, fault?: string): Promise<PageResponse> {
  const { context } = request;
  const { id } = account;
  const usable_at_ms = context.clock.epoch_ms();
  const [uses, keys] = await Promise.all([
    usesOf(context, account),
    context.records.store.keys.list({ account: id, usable_at_ms, limit: page_rows }),
  ]);
  const keyUses = await usesOfKeys(request, keys);
  return pageResponse(request, {
    title: id,
    section: 'accounts',
    fault,
    body: html`${inMemoryNotice(context)}
<div class="columns">
${panel('limits', 'Current usage', limitBars(uses))}
${panel('account', 'Account', html`${facts(account)}${planForm(request, account)}`)}
</div>
<section class="panel" aria-labelledby="keys"><h2 id="keys">Active keys</h2>
${
  keys.length === 0
    ? emptyState(
        'This account has no active key.',
        account.source === 'application' ? 'The application names it without one.' : 'Issue one below.',
      )
    : keyTable('Active keys of this account', keys, usable_at_ms, 'of one account', keyUses)
}
<p><a href="${linkOf('keys', { account: id, all: 'yes' })}">All keys of this account, also expired and revoked ones</a></p>
${account.source === 'configuration' && configuredKeys(request, id)}
</section>
${account.source !== 'application' && issueForm(request, id)}`,
  });
}

const sources = {
  configuration: 'the configuration, where it is changed',
  store: 'the records store',
  application: 'the application, which named it in a request',
} as const;

function facts({ plan, limits, source, created_ms }: AccountView): Html {
  const own = Object.keys(limits).length > 0;
  return html`<dl>
<dt>Plan</dt><dd>${plan ?? muted('none')}</dd>
${own && html`<dt>Overrides</dt><dd><code>${JSON.stringify(limits)}</code></dd>`}
<dt>Source</dt><dd>${sources[source]}</dd>
${created_ms !== undefined && html`<dt>Created</dt><dd>${timeOf(created_ms)}</dd>`}
</dl>`;
}

function planForm(request: PageRequest, { id, plan, source }: AccountView): Part {
  if (source !== 'store') return '';
  if (Object.keys(request.context.settings.plans).length === 0)
    return html`<p class="muted">There are no plans to choose from: add some under <code>plans</code> in the configuration.</p>`;
  const fields = html`${planSelect(request, plan)}<button>Change plan</button>`;
  return postForm(request, linkOf('account', { id }), fields, 'row');
}

/** Selection of configured plans, and of the chosen plan even if it no longer exists. */
export function planSelect({ context }: PageRequest, chosen: string | null | undefined): Html {
  const plans = Object.keys(context.settings.plans);
  const isGone = chosen && !plans.includes(chosen);
  return html`<label>Plan <select name="plan">
<option value="">none</option>
${plans.map(plan => html`<option value="${plan}" ${plan === chosen && html`selected`}>${plan}</option>\n`)}
${isGone && html`<option value="${chosen}" selected disabled>${chosen} (not configured)</option>`}
</select></label>`;
}

/** Why `plan` cannot be chosen; undefined if it can. */
export const noSuchPlan = ({ context }: PageRequest, plan: string | null): string | undefined =>
  plan === null || Object.hasOwn(context.settings.plans, plan)
    ? undefined
    : `There is no plan “${plan}” in the configuration.`;

/** Lists configured keys by the beginnings of their digests; the keys are in the configuration, and are removed there. */
function configuredKeys({ context }: PageRequest, id: string): Part {
  const digests = context.settings.accounts[id]!.keys.map(digestOfKey);
  if (digests.length === 0) return '';
  return html`<h3>Keys in the configuration</h3>
<ul>${digests.map(digest => html`<li>SHA-256 <code>${digest.slice(0, 12)}…</code></li>`)}</ul>
<p class="muted">They are added and removed in the configuration file.</p>`;
}

async function changePlan(request: PageRequest): Promise<PageResponse> {
  const account = await accountOf(request);
  const plan = request.form.get('plan') || null;
  const fault =
    account.source === 'store'
      ? noSuchPlan(request, plan)
      : `This account is changed in ${account.source === 'application' ? 'the application' : 'the configuration file'}.`;
  if (fault !== undefined) return shown(request, account, fault);
  const { id } = account;
  const page = linkOf('account', { id });
  if (plan === (account.plan ?? null)) return redirect(page);
  await request.context.records.store.accounts.change(id, { plan }, operatorOf(request));
  return changed(
    request,
    page,
    `The plan is ${plan ?? 'none'} now; every instance follows within 5 seconds.`,
  );
}
