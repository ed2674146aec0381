import { day_ms, no_model, type UsageSum } from '../../../src/plugin.ts';
import type { Page } from '../page-request.ts';
import type { PageResponse } from '../page-response.ts';
import { measures, usageChart } from '../pages/usage-chart.ts';
import { toMonthEnd, type UsageQuestion, usageQuestion } from '../usage-question.ts';
import { customerTitles } from '../view/error-counts.ts';
import { linkOf } from '../view/format.ts';
import { type Html, html } from '../view/html.ts';
import { searchForm } from '../view/search-form.ts';
import { panel } from '../view/shell.ts';
import { emptyState } from '../view/table.ts';
import { totalOf, totalsBy, type UsageLine, usageTable } from '../view/usage-table.ts';
import { figures } from './overview.ts';
import { type PortalRequest, portalPage, portalResponse } from './portal-page.ts';

/** Longer spans are shown by month. */
const max_days = 92;
/** Keys that are listed, the most expensive. */
const max_keys = 50;

/** What the account has used, by day, model and key. */
export const usagePage: Page = portalPage({ name: 'usage', get: shown });

/** A query of the account's own usage, whatever account the address names. */
export function ownQuestion({ account, context, query }: PortalRequest) {
  const { question, fault } = usageQuestion(query, context.clock.epoch_ms());
  const { from_day, to_day, model } = question;
  return { question: { from_day, to_day, model, account: account.id }, fault };
}

type OwnQuestion = Pick<UsageQuestion, 'from_day' | 'to_day' | 'model'> & { readonly account: string };

async function shown(request: PortalRequest): Promise<PageResponse> {
  const { context, query } = request;
  const { question, fault } = ownQuestion(request);
  const unit = unitOf(question);
  const chosen = query.get('show') ?? '';
  const measureName = measures.has(chosen) ? chosen : 'cost';
  const measure = measures.get(measureName)!;
  const { usage } = context.records.store;
  const [sums, keys] = await Promise.all([
    usage.sum({ ...question, by: [unit, 'model'] }),
    usage.sum({
      ...toMonthEnd(question, context.clock.epoch_ms()),
      by: ['key'],
      order: 'cost',
      limit: max_keys,
    }),
  ]);
  const models = context.catalog.models.map(({ id }) => id);
  const periods = totalsBy(sums, unit).map(([name, total]) => ({ name, total }));
  return portalResponse(request, {
    title: 'Usage',
    section: 'usage',
    fault,
    scripts: ['charts.js'],
    beside:
      sums.length > 0 &&
      html`<a class="button" href="${csvLink(question, ['day', 'model', 'key'])}" download>Export as CSV</a>`,
    body: html`${filters(request, question, measureName)}
${
  sums.length === 0
    ? html`<section class="panel" aria-label="Usage">${emptyState('There is no usage in this time.', 'Requests appear here seconds after they end.')}</section>`
    : html`<section class="panel" aria-label="Totals">${figures(totalOf(sums))}</section>
${panel('chart', `${measure.title} by ${unit}`, usageChart(sums, { ...question, unit }, measure, models))}
${question.model === undefined && group('model', byModel(sums, question), question)}
${keys.length > 0 && group('key', await byKey(request, keys), question)}
${group(unit, periods.reverse(), question)}`
}`,
  });
}

const unitOf = ({ from_day, to_day }: OwnQuestion): 'day' | 'month' =>
  (Date.parse(to_day) - Date.parse(from_day)) / day_ms >= max_days ? 'month' : 'day';

const ofQuestion = ({ from_day, to_day, model }: OwnQuestion) => ({
  from: from_day,
  to: to_day,
  model: model === '' ? no_model : model,
});

const csvLink = (question: OwnQuestion, by: readonly string[]): string =>
  `${linkOf('usage-csv', ofQuestion(question))}${by.map(name => `&by=${name}`).join('')}`;

function group(name: string, lines: readonly UsageLine[], question: OwnQuestion): Html {
  const title = `${name[0]!.toUpperCase()}${name.slice(1)}`;
  return panel(
    name,
    `By ${name}`,
    html`${usageTable(`Usage by ${name}`, title, lines, true, customerTitles)}
<p class="pager"><a class="button" href="${csvLink(question, [name])}" download>CSV by ${name}</a></p>`,
  );
}

const byModel = (sums: readonly UsageSum[], question: OwnQuestion): UsageLine[] =>
  totalsBy(sums, 'model')
    .map(([model, total]) => ({
      name: model || no_model,
      link: linkOf('usage', ofQuestion({ ...question, model })),
      total,
    }))
    .sort((a, b) => Number(b.total.cost_usd) - Number(a.total.cost_usd));

async function byKey({ account, context }: PortalRequest, sums: readonly UsageSum[]): Promise<UsageLine[]> {
  const { keys } = context.records.store;
  const found = await Promise.all(sums.map(({ key = '' }) => (key === '' ? undefined : keys.find(key))));
  return sums.map((total, at) => {
    const key = found[at];
    const isOwn = key?.account === account.id;
    return { name: total.key === '' ? '(none of the portal)' : (isOwn && key.name) || total.key!, total };
  });
}

function filters(request: PortalRequest, question: OwnQuestion, measure: string): Html {
  const { catalog } = request.context;
  const { from, to, model } = ofQuestion(question);
  const fields = html`<label>From <input type="date" name="from" value="${from}"></label>
<label>To <input type="date" name="to" value="${to}"></label>
<label>Model <input name="model" value="${model}" placeholder="all" list="models" autocomplete="off" spellcheck="false"></label>
<datalist id="models">${catalog.models.map(({ id }) => html`<option value="${id}"></option>`)}</datalist>
<label>Chart <select name="show">${[...measures].map(
    ([name, { title }]) =>
      html`<option value="${name}" ${name === measure && html`selected`}>${title}</option>`,
  )}</select></label>
<button class="primary">Show</button>`;
  return searchForm(request, 'usage', fields);
}
