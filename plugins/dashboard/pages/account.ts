import { type AccountRecord, checkParent, digestOfKey } from '../../../src/plugin.ts';
import { type AccountView, findAccount, storedAccount, usesOf } from '../account-view.ts';
import { changed, operatorOf, type Page, type PageRequest } from '../page-request.ts';
import { PageError, type PageResponse } from '../page-response.ts';
import { historyPanel } from '../view/audit-table.ts';
import { accountLink, linkOf, muted, timeOf } from '../view/format.ts';
import { type Html, html, type Part } from '../view/html.ts';
import { keyTable } from '../view/key-table.ts';
import { limitBars } from '../view/limit-bars.ts';
import { page_rows } from '../view/pager.ts';
import { inMemoryNotice, pageResponse, panel } from '../view/shell.ts';
import { emptyState } from '../view/table.ts';
import {
  accountForms,
  nameForm,
  overridesPanel,
  parentForm,
  planForm,
  type Refused,
  refusedBy,
  stateForm,
  stateNotices,
} from './account-forms.ts';
import { issuePanel } from './keys.ts';
import { portalSignIns } from './portal-sign-ins.ts';
import { accountUsePanel } from './use-panel.ts';

/** One account: current usage of its limits, its keys, and what can be changed. */
export const accountPage: Page = {
  name: 'account',
  get: async request => shown(request, await accountOf(request)),
  post: change,
};

async function accountOf({ context, query }: PageRequest): Promise<AccountView> {
  const id = query.get('id') ?? '';
  const found = await findAccount(context, id);
  if (found) return found;
  throw new PageError(404, `There is no account “${id}”.`, 'Look for it in the list of accounts.');
}

async function shown(request: PageRequest, account: AccountView, refused?: Refused): Promise<PageResponse> {
  const { context, scope } = request;
  const { id } = account;
  const canChange = scope.may.change;
  const usable_at_ms = context.clock.epoch_ms();
  const { keys: keyRecords } = context.records.store;
  const [uses, keys, spend, history, signIns] = await Promise.all([
    usesOf(context, account),
    keyRecords.list({ account: id, usable_at_ms, limit: page_rows }),
    accountUsePanel(request, account),
    account.source === 'store' && historyPanel(request, 'account', id),
    portalSignIns(request, account),
  ]);
  const keyList = keys.length > 0 && (await keyTable(request, 'Active keys of this account', keys));
  return pageResponse(request, {
    title: account.display_name ? `${id} · ${account.display_name}` : id,
    section: 'accounts',
    scripts: ['charts.js'],
    fault: refused?.fault,
    status: refused?.status,
    body: html`${inMemoryNotice(request)}${disabledNotice(account)}
<div class="columns">
${panel('limits', 'Current usage', limitBars(uses, scope))}
${panel('account', 'Account', html`${facts(account)}${canChange && planForm(request, account, refused)}${canChange && parentForm(request, account, refused)}${canChange && nameForm(request, account, refused)}`)}
</div>
${overridesPanel(request, account, refused)}
${spend}
${issuePanel(request, account)}
<section class="panel" aria-labelledby="keys"><h2 id="keys">Active keys</h2>
${
  keyList ||
  emptyState(
    'This account has no active key.',
    account.source === 'application' ? 'The application identifies it without a key.' : 'Issue one above.',
  )
}
<p><a href="${linkOf('keys', { account: id, all: 'yes' })}">All keys of this account, also expired and revoked ones</a></p>
${account.source === 'configuration' && configuredKeys(request, id)}
</section>
${signIns}
${history}
${canChange && stateForm(request, account)}`,
  });
}

const sources = {
  configuration: 'the configuration, where it is changed',
  store: 'the records store',
  application: 'the application, which named it in a request',
} as const;

function facts({ plan, parent, source, created_ms }: AccountView): Html {
  return html`<dl>
<dt>Plan</dt><dd>${plan ?? muted('none')}</dd>
<dt>Parent</dt><dd>${parent ? accountLink(parent) : muted('none')}</dd>
<dt>Source</dt><dd>${sources[source]}</dd>
${created_ms !== undefined && html`<dt>Created</dt><dd>${timeOf(created_ms)}</dd>`}
</dl>`;
}

/** Lists configured keys by the beginnings of their digests; the keys are in the configuration, and are removed there. */
function configuredKeys({ context }: PageRequest, id: string): Part {
  const digests = context.settings.accounts[id]!.keys.map(digestOfKey);
  if (digests.length === 0) return '';
  return html`<h3>Keys in the configuration</h3>
<ul>${digests.map(digest => html`<li>SHA-256 <code>${digest.slice(0, 12)}…</code></li>`)}</ul>
<p class="muted">They are added and removed in the configuration file.</p>`;
}

const disabledNotice = ({ disabled_ms }: AccountView): Part =>
  disabled_ms !== null &&
  html`<p class="notice bad">Disabled since ${timeOf(disabled_ms)}: its requests are answered 403. Enable it at the end of this page.</p>`;

async function change(request: PageRequest): Promise<PageResponse> {
  const account = await accountOf(request);
  const { id, source } = account;
  if (source !== 'store') {
    const fault = `This account is changed in ${source === 'application' ? 'the application' : 'the configuration file'}.`;
    return shown(request, account, { fault });
  }
  const { accounts } = request.context.records.store;
  const operator = operatorOf(request);
  const page = linkOf('account', { id });
  const name = request.form.get('change') ?? 'plan';
  if (name === 'disable' || name === 'enable') {
    await accounts[name](id, operator);
    return changed(request, page, stateNotices.get(name));
  }
  const form = accountForms.get(name);
  if (!form) throw new PageError(400, 'This is not a form of the dashboard.');
  let refused: Refused | undefined;
  let after: AccountRecord;
  try {
    if (name === 'parent')
      await checkParent(request.context, accounts, request.form.get('parent')?.trim() || null);
    after = await accounts.change(
      id,
      now => {
        const wanted = form.changeOf(request, now);
        refused = 'fault' in wanted ? wanted : undefined;
        return 'fault' in wanted ? {} : wanted;
      },
      operator,
    );
  } catch (thrown) {
    return shown(request, account, refusedBy(thrown, request.form));
  }
  if (refused) return shown(request, storedAccount(after), refused);
  return changed(request, page, form.notice(after));
}
