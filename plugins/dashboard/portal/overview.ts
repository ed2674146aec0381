import { dayOf } from '../../../src/plugin.ts';
import { usesOf } from '../account-view.ts';
import type { Page } from '../page-request.ts';
import type { PageResponse } from '../page-response.ts';
import { measures, usageChart } from '../pages/usage-chart.ts';
import { customerTitles, errorsText } from '../view/error-counts.ts';
import { numberOf } from '../view/format.ts';
import { type Html, html, type Part } from '../view/html.ts';
import { keyTable, usesOfKeys } from '../view/key-table.ts';
import { dollars } from '../view/money.ts';
import { panel } from '../view/shell.ts';
import { emptyState, tableOf } from '../view/table.ts';
import { type Totals, totalOf, totalsBy, usageTable } from '../view/usage-table.ts';
import { ofPortal } from './keys.ts';
import { ownLimits } from './limits.ts';
import { type PortalRequest, portalPage, portalResponse } from './portal-page.ts';
import { requestColumns } from './requests.ts';

/** Keys that are shown; their page has all. */
const max_keys = 5;
/** Requests that are shown. */
const max_requests = 8;

/** The account at a glance: spend of this month, limits, keys. */
export const overviewPage: Page = portalPage({ name: '', get: shown });

async function shown(request: PortalRequest): Promise<PageResponse> {
  const { account, context } = request;
  const now_ms = context.clock.epoch_ms();
  const { keys: keyRecords } = context.records.store;
  const [spend, uses, keys, requests] = await Promise.all([
    spendPanel(request),
    usesOf(context, account),
    keyRecords.list({ account: account.id, usable_at_ms: now_ms, sort: 'used', limit: max_keys }),
    context.records.store.ledger.list({ account: account.id, limit: max_requests }),
  ]);
  const keyUses = await usesOfKeys(request, keys);
  return portalResponse(request, {
    title: account.display_name || account.id,
    section: '',
    scripts: ['charts.js'],
    body: html`${spend}
${panel('limits', 'Limits', html`${account.plan !== undefined && html`<p class="muted">Plan ${account.plan}</p>`}${ownLimits(uses)}`)}
${panel('requests', 'Latest requests', html`${tableOf('Latest requests, newest first', requestColumns, requests, noRequests)}<p class="pager"><a class="button" href="requests">All requests</a></p>`)}
${panel('keys', 'Active keys', html`${keys.length === 0 ? noKeys : keyTable('Active keys, last used first', keys, { now_ms, uses: keyUses, ...ofPortal })}<p class="pager"><a class="button" href="keys">All keys</a></p>`)}`,
  });
}

const noRequests = emptyState(
  'No requests yet.',
  html`<a href="examples">Examples</a> show how to send the first.`,
);
const noKeys = emptyState(
  'There are no active keys.',
  html`<a href="keys">Issue one</a> to send your first request.`,
);

async function spendPanel({ account, context }: PortalRequest): Promise<Html> {
  const to_day = dayOf(context.clock.epoch_ms());
  const span = { from_day: `${to_day.slice(0, 8)}01`, to_day };
  const sums = await context.records.store.usage.sum({ account: account.id, ...span, by: ['day', 'model'] });
  const models = context.catalog.models.map(({ id }) => id);
  const chart = (name: string) => {
    const measure = measures.get(name)!;
    return html`<div><h3>${measure.title} by day</h3>${usageChart(sums, { ...span, unit: 'day' }, measure, models)}</div>`;
  };
  const lines = totalsBy(sums, 'day').map(([name, total]) => ({ name, total }));
  return panel(
    'spend',
    'This month',
    sums.length === 0
      ? emptyState('No requests this month.', 'They appear here seconds after they end.')
      : html`${figures(totalOf(sums))}
<div class="columns">${chart('cost')}${chart('requests')}</div>
<details><summary>Table by day</summary>${usageTable('Usage by day', 'Day', lines.reverse(), true, customerTitles)}</details>`,
  );
}

/** Totals as figures. */
export function figures(total: Totals): Html {
  const figure = (title: string, value: Part, more: Part) =>
    html`<div class="figure"><dt>${title}</dt><dd><strong>${value}</strong> <span class="muted">${more}</span></dd></div>`;
  return html`<dl class="figures">
${figure('Cost', dollars(total.cost_usd), total.estimated_requests > 0 && `${numberOf(total.estimated_requests)} estimated`)}
${figure('Requests', numberOf(total.requests), errorsText(total, customerTitles))}
${figure('Prompt tokens', numberOf(total.prompt_tokens), `${numberOf(total.cached_tokens)} cached`)}
${figure('Completion tokens', numberOf(total.completion_tokens), `${numberOf(total.reasoning_tokens)} reasoning`)}
</dl>`;
}
