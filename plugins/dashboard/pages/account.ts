import { type AccountView, nearest, usesOf } from '../account-view.ts';
import type { Page, PageRequest } from '../page-request.ts';
import { PageError, type PageResponse } from '../page-response.ts';
import type { RefusedForm } from '../view/edited-fields.ts';
import { accountLink, countOf, muted, timeOf } from '../view/format.ts';
import { type Html, html, type Part } from '../view/html.ts';
import { limitBars } from '../view/limit-bars.ts';
import { latestColumns } from '../view/request-columns.ts';
import { panel } from '../view/shell.ts';
import { emptyState, tableOf } from '../view/table.ts';
import { changeAccount, newSettings, settingsForm, stateForm, switchAccount } from './account-forms.ts';
import { accountOf, accountResponse, tabLink } from './account-tabs.ts';
import { accountUsePanel } from './use-panel.ts';

/** Limits that are shown; their page has all. */
const max_limits = 4;
/** Requests from which on a customer needs no help to begin. */
const few_requests = 3;
/** Requests that are shown. */
const max_requests = 5;

/** One account at a glance: what it spends, its nearest limits, what it is, its latest requests. */
export const accountPage: Page = {
  name: 'account',
  get: async request => shown(request, await accountOf(request)),
  post: change,
};

async function shown(
  request: PageRequest,
  account: AccountView,
  refused?: RefusedForm,
): Promise<PageResponse> {
  const { context, scope } = request;
  const { id } = account;
  const { keys, ledger, accounts } = context.records.store;
  const usable_at_ms = context.clock.epoch_ms();
  const [spend, uses, active_keys, requests, below] = await Promise.all([
    accountUsePanel(request, account),
    usesOf(context, account),
    keys.count({ account: id, usable_at_ms }),
    ledger.list({ account: id, limit: max_requests }),
    scope.account ? [] : accounts.below([id]),
  ]);
  const children = below.filter(({ above }) => above === id).map(child => child.id);
  return accountResponse(request, account, {
    tab: 'account',
    scripts: ['charts.js'],
    refused,
    body: html`${scope.account && requests.length < few_requests && firstSteps(account, active_keys > 0, requests.length > 0)}${spend}
<div class="columns">
${panel('limits', 'Nearest limits', html`${limitBars(nearest(uses, max_limits), scope)}<p><a href="${tabLink(request, 'limits', id)}">All limits</a></p>`)}
${facts(request, account, active_keys, children)}
</div>
${panel('requests', 'Latest requests', html`<div class="lines">${tableOf('Latest requests, newest first', latestColumns(scope, usable_at_ms), requests, nothing(request))}</div>`)}
<div class="columns">${settingsForm(request, account, refused)}${stateForm(request, account)}</div>`,
  });
}

/** What a customer does first, with what is done. */
function firstSteps({ source }: AccountView, hasKey: boolean, hasRequest: boolean): Html {
  const steps = [
    {
      isDone: hasKey || hasRequest,
      step: html`<a href="keys">Issue a key</a>`,
      isLeftOut: source === 'application',
    },
    { isDone: hasRequest, step: html`<a href="examples">Send the first request</a>, as in the example` },
    { isDone: false, step: html`<a href="usage">Look at what you have used</a>, by day, model and key` },
  ];
  const rest = steps.filter(({ isLeftOut }) => !isLeftOut);
  return panel(
    'first-steps',
    'First steps',
    html`<ol>${rest.map(({ isDone, step }) => html`<li>${step} ${isDone && html`<span class="state good">done</span>`}</li>\n`)}</ol>`,
  );
}

const nothing = ({ scope }: PageRequest): Html =>
  emptyState(
    'No requests yet.',
    scope.account
      ? html`<a href="examples">Examples</a> show how to send the first.`
      : 'They appear here seconds after they end.',
  );

const sources = {
  configuration: 'the configuration, where it is changed',
  store: 'the records store',
  application: 'the application, which named it in a request',
} as const;

/** Accounts below one that are named. */
const max_children = 10;

function facts(
  request: PageRequest,
  { id, plan, parent, source, created_ms }: AccountView,
  active_keys: number,
  children: readonly string[],
): Html {
  const ofOperators: Part =
    !request.scope.account &&
    html`<dt>Parent</dt><dd>${parent ? accountLink(parent) : muted('none')}</dd>
${children.length > 0 && html`<dt>Below it</dt><dd>${children.slice(0, max_children).map(child => html`${accountLink(child)} `)}${children.length > max_children && muted(`and ${children.length - max_children} more`)}</dd>`}
<dt>Source</dt><dd>${sources[source]}</dd>`;
  return panel(
    'facts',
    'Account',
    html`<dl>
<dt>Plan</dt><dd>${plan ?? muted('none')}</dd>
<dt>Keys</dt><dd><a href="${tabLink(request, 'keys', id)}">${countOf(active_keys, 'active key')}</a></dd>
${ofOperators}
${created_ms !== undefined && html`<dt>Created</dt><dd>${timeOf(created_ms)}</dd>`}
</dl>`,
  );
}

async function change(request: PageRequest): Promise<PageResponse> {
  const name = request.form.get('change') ?? 'settings';
  if (name === 'disable' || name === 'enable') return switchAccount(request, name);
  if (name === 'settings') return changeAccount(request, { changeOf: newSettings, shown });
  throw new PageError(400, 'This is not a form of the dashboard.');
}
