import {
  amountOfRule,
  day_ms,
  dayOf,
  type ExtensionContext,
  type KeyRecord,
  type LimitRule,
  planLimitsOf,
  type TaggedSum,
  totalOf,
} from '../../../src/plugin.ts';
import type { AccountView } from '../account-view.ts';
import type { PageRequest } from '../page-request.ts';
import { toMonthEnd } from '../usage-figures.ts';
import { type MeasureName, measures } from '../usage-measures.ts';
import { errorsText } from '../view/error-counts.ts';
import { dollars, dollarText, linkOf, numberOf, percentOf } from '../view/format.ts';
import { type Html, html, type Part } from '../view/html.ts';
import { figure, panel } from '../view/shell.ts';
import { emptyState } from '../view/table.ts';
import { modelChart } from '../view/usage-chart.ts';

/** Days that are shown, with today. */
const days = 30;

/** What a key was used for in the last 30 days, and what that cost. */
export const keyUsePanel = (request: PageRequest, { id, account }: KeyRecord): Promise<Html> =>
  usePanel(request, { account, key: id });

/** What an account has used in the last 30 days, and what it cost, in this month as well. */
export const accountUsePanel = (request: PageRequest, account: AccountView): Promise<Html> =>
  usePanel(request, { account: account.id }, monthFigure(request, account));

async function usePanel(
  { context, scope }: PageRequest,
  { account, key }: { readonly account: string; readonly key?: string },
  month?: Promise<Part>,
): Promise<Html> {
  const now_ms = context.clock.epoch_ms();
  const span = { from_day: dayOf(now_ms - (days - 1) * day_ms), to_day: dayOf(now_ms) };
  const [sums, ofMonth] = await Promise.all([
    context.records.store.usage.sum({ account, key, ...span, by: ['day', 'model'] }) as Promise<TaggedSum[]>,
    month,
  ]);
  const total = totalOf(sums);
  const whose = { account: scope.account ? undefined : account, key };
  const models = context.catalog.models.map(({ id }) => id);
  const chart = (name: MeasureName) =>
    html`<div><h3>${measures[name].title} by day</h3>${modelChart(sums, span, measures[name], models, day => linkOf('usage', { ...whose, from: day, to: day, show: name }))}</div>`;
  return panel(
    'use',
    'Last 30 days',
    html`<dl class="figures">
${ofMonth}
${scope.sees.money && figure('Cost in 30 days', dollars(total.cost_usd), 'at the prices of the catalog')}
${figure('Requests in 30 days', numberOf(total.requests), errorsText(total, scope))}
${figure('Tokens in 30 days', numberOf(total.prompt_tokens + total.completion_tokens), `${numberOf(total.completion_tokens)} of completions`)}
</dl>
${sums.length === 0 ? emptyState('No requests in the last 30 days.', 'They appear here seconds after they end.') : html`<div class="columns">${chart(scope.sees.money ? 'cost' : 'tokens')}${chart('requests')}</div>`}
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
