import {
  amountOfRule,
  dayOf,
  type ExtensionContext,
  type LimitRule,
  no_model,
  planLimitsOf,
  totalOf,
} from '../../../src/plugin.ts';
import type { AccountView } from '../account-view.ts';
import type { PageRequest } from '../page-request.ts';
import { toMonthEnd, usageFigures } from '../usage-figures.ts';
import { usageView } from '../usage-view.ts';
import { dollars, dollarText, linkOf, percentOf } from '../view/format.ts';
import { type Html, html, type Part } from '../view/html.ts';
import { figure, panel } from '../view/shell.ts';
import { emptyState } from '../view/table.ts';
import { usageChart, usageTiles } from '../view/usage-chart.ts';

/** What a key was used for in the last 30 days, and what that cost. */
export const keyUsePanel = (
  request: PageRequest,
  { id, account }: { readonly id: string; readonly account: string },
): Promise<Html> => usePanel(request, account, id);

/** What an account has used in the last 30 days, and what it cost, in this month as well. */
export const accountUsePanel = (request: PageRequest, account: AccountView): Promise<Html> =>
  usePanel(request, account.id, undefined, monthFigure(request, account));

async function usePanel(
  request: PageRequest,
  account: string,
  key?: string,
  month?: Promise<Part>,
): Promise<Html> {
  const { context, scope } = request;
  const whose = { account: scope.account ? undefined : account, key };
  const query = new URLSearchParams({ time: '30d', by: 'model', account, ...(key && { key }) });
  const { view } = usageView({ ...request, query });
  const [figures, ofMonth] = await Promise.all([usageFigures(context, view), month]);
  const shown = { context, view, figures, nameOf: (_: unknown, id: string) => id || no_model };
  const nothing = emptyState('No requests in the last 30 days.', 'They appear here seconds after they end.');
  return panel(
    'use',
    'Last 30 days',
    html`${usageTiles(shown, ofMonth)}
${figures.periods.length === 0 ? nothing : usageChart(shown)}
<p class="pager"><a class="button" href="${linkOf('requests', key ? { key } : whose)}">${key ? 'Requests with this key' : 'All requests'}</a>
<a class="button" href="${linkOf('usage', { ...whose, time: '30d' })}">${key ? 'Usage of this key' : 'Usage'}</a>
${!key && html`<a class="button" href="${linkOf('statement', whose)}">Statement</a>`}</p>`,
  );
}

/** The cost of this month against the account's limit; nothing for those who see no money. */
async function monthFigure({ context, scope }: PageRequest, account: AccountView): Promise<Part> {
  if (!scope.sees.money) return '';
  const now_ms = context.clock.epoch_ms();
  const to_day = dayOf(now_ms);
  const days = toMonthEnd({ from_day: `${to_day.slice(0, 8)}01`, to_day }, now_ms);
  const sums = await context.records.store.usage.sum({ account: account.id, ...days, by: [] });
  const { cost_usd } = totalOf(sums);
  const limit = usdLimitOf(context, account);
  const share =
    limit === undefined
      ? 'no limit per month'
      : html`of ${dollarText(limit)}, ${percentOf(Number(cost_usd) / limit)}`;
  return figure('Cost this month', dollars(cost_usd), share);
}

/** Dollars per month; undefined for no limit. */
function usdLimitOf(context: ExtensionContext, { plan, limits }: AccountView): number | undefined {
  const { usd_per_month: ofPlan } = planLimitsOf(context.settings, plan) ?? {};
  const { usd_per_month: own = ofPlan } = limits;
  return own === undefined || own === null ? undefined : Number(amountOfRule(own as LimitRule));
}
