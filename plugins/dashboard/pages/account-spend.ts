import {
  amountOfRule,
  day_ms,
  dayOf,
  type ExtensionContext,
  type LimitRule,
  type UsageSum,
} from '../../../src/plugin.ts';
import { type AccountView, planLimitsOf } from '../account-view.ts';
import type { PageRequest } from '../page-request.ts';
import type { Scope } from '../scope.ts';
import { toMonthEnd } from '../usage-question.ts';
import { errorsText } from '../view/error-counts.ts';
import { figure } from '../view/figure.ts';
import { linkOf, numberOf } from '../view/format.ts';
import { type Html, html } from '../view/html.ts';
import { dollars, dollarText } from '../view/money.ts';
import { panel } from '../view/shell.ts';
import { emptyState } from '../view/table.ts';
import { type Totals, totalOf } from '../view/usage-table.ts';
import { type MeasureName, measures, usageChart } from './usage-chart.ts';

/** Days that are shown, with today. */
const days = 30;

/** Requests of an account in the last 30 days, its cost, and that of the month against its limit in dollars. */
export async function spendPanel({ context, scope }: PageRequest, account: AccountView): Promise<Html> {
  const now_ms = context.clock.epoch_ms();
  const to_day = dayOf(now_ms);
  const span = { from_day: dayOf(now_ms - (days - 1) * day_ms), to_day };
  const whose = { account: account.id, model: undefined };
  const month = toMonthEnd({ ...whose, from_day: `${to_day.slice(0, 8)}01`, to_day }, now_ms);
  const { usage } = context.records.store;
  const [sums, ofMonth] = await Promise.all([
    usage.sum({ account: account.id, ...span, by: ['day', 'model'] }),
    usage.sum({ ...month, by: [] }),
  ]);
  const total = totalOf(sums);
  const named = scope.account ? {} : { account: account.id };
  const whoseName = scope.account ? '' : ' of this account';
  return panel(
    'spend',
    'Last 30 days',
    html`<dl class="figures">
${scope.sees.money && costFigures(total, totalOf(ofMonth), usdLimitOf(context, account))}
${figure('Requests in 30 days', numberOf(total.requests), errorsText(total, scope))}
${figure('Tokens in 30 days', numberOf(total.prompt_tokens + total.completion_tokens), `${numberOf(total.completion_tokens)} of completions`)}
</dl>
${sums.length === 0 ? emptyState('No requests in the last 30 days.', 'They appear here seconds after they end.') : charts(context, scope, sums, { ...span, ...named })}
<p class="pager"><a class="button" href="${linkOf('requests', named)}">Requests${whoseName}</a>
<a class="button" href="${linkOf('usage', { ...named, time: '30d' })}">Usage${whoseName}</a></p>`,
  );
}

/** Dollars per month; undefined for no limit. */
function usdLimitOf(context: ExtensionContext, { plan, limits }: AccountView): number | undefined {
  const { usd_per_month: ofPlan } = planLimitsOf(context, plan) ?? {};
  const { usd_per_month: own = ofPlan } = limits;
  return own === undefined || own === null ? undefined : Number(amountOfRule(own as LimitRule));
}

function costFigures(total: Totals, month: Totals, limit: number | undefined): Html {
  const share =
    limit === undefined
      ? 'no limit per month'
      : html`of ${dollarText(limit)}, ${((Number(month.cost_usd) / limit) * 100).toFixed(1)} %`;
  return html`${figure('Cost this month', dollars(month.cost_usd), share)}
${figure('Cost in 30 days', dollars(total.cost_usd), 'at the prices of the catalog')}`;
}

function charts(
  { catalog }: ExtensionContext,
  { sees }: Scope,
  sums: readonly UsageSum[],
  { account, ...span }: { from_day: string; to_day: string; account?: string },
): Html {
  const models = catalog.models.map(({ id }) => id);
  const one = (name: MeasureName) =>
    html`<div><h3>${measures[name].title} by day</h3>${usageChart(sums, { ...span, unit: 'day' }, measures[name], models, day => linkOf('usage', { account, from: day, to: day, show: name }))}</div>`;
  return html`<div class="columns">${one(sees.money ? 'cost' : 'tokens')}${one('requests')}</div>`;
}
