import { no_model } from '../../stores/records/usage-columns.ts';
import type { UsageGroup, UsageSum } from '../../stores/records/usage-query.ts';
import type { DashboardContext, Page, PageRequest } from '../page-request.ts';
import type { PageResponse } from '../page-response.ts';
import { queryOf, toMonthEnd, type UsageQuestion, usageQuestion } from '../usage-question.ts';
import { linkOf, muted, numberOf } from '../view/format.ts';
import { type Html, html, type Part } from '../view/html.ts';
import { dollars } from '../view/money.ts';
import { pageResponse, panel } from '../view/shell.ts';
import { emptyState } from '../view/table.ts';
import { totalOf, totalsBy, type UsageLine, usageTable } from '../view/usage-table.ts';
import { measures, usageChart } from './usage-chart.ts';

/** Accounts that are listed; the export has all. */
const max_accounts = 50;
/** Longer spans are shown by month. */
const max_days = 92;
const day_ms = 86_400_000;

/** Totals of the ledger by day, model and account. */
export const usagePage: Page = { name: 'usage', get: shown };

async function shown(request: PageRequest): Promise<PageResponse> {
  const { context, query } = request;
  const now_ms = context.clock.epoch_ms();
  const { question, fault } = usageQuestion(query, now_ms);
  const unit = unitOf(question);
  const chosen = query.get('show') ?? '';
  const measureName = measures.has(chosen) ? chosen : 'tokens';
  const measure = measures.get(measureName)!;
  const { usage } = context.records.store;
  const [sums, accounts] = await Promise.all([
    usage.sum({ ...question, by: [unit, 'model'] }),
    question.account === undefined
      ? usage.sum({
          ...toMonthEnd(question, now_ms),
          by: ['account'],
          order: 'cost',
          limit: max_accounts + 1,
        })
      : [],
  ]);
  const body =
    sums.length === 0
      ? html`<section class="panel" aria-label="Usage">${nothing(question)}</section>`
      : html`${totals(sums)}
${panel(
  'chart',
  `${measure.title} by ${unit}`,
  usageChart(
    sums,
    { ...question, unit },
    measure,
    context.catalog.models.map(({ id }) => id),
  ),
)}
${question.model === undefined && byModel(sums, question)}
${accounts.length > 0 && byAccount(accounts, question)}
${byPeriod(sums, question)}`;
  return pageResponse(request, {
    title: 'Usage',
    section: 'usage',
    scripts: ['charts.js'],
    fault,
    beside: sums.length > 0 && exportLink(question, ['day', 'account', 'model'], 'Export all as CSV'),
    body: html`${keptNotice(context)}${filters(context, question, measureName)}${body}`,
  });
}

const unitOf = ({ from_day, to_day }: UsageQuestion): 'day' | 'month' =>
  (Date.parse(to_day) - Date.parse(from_day)) / day_ms >= max_days ? 'month' : 'day';

const keptNotice = ({ settings }: DashboardContext): Part =>
  settings.records.target.kind === 'memory' &&
  html`<p class="notice warn">The ledger is kept in memory and ends with this process. Set <code>stores.records</code> to a SQLite file or a Postgres database to keep it.</p>`;

function filters({ catalog }: DashboardContext, question: UsageQuestion, measure: string): Html {
  const { from, to, account, model } = queryOf(question);
  return html`<form method="get" action="usage" class="row panel" role="search">
<label>From <input type="date" name="from" value="${from}"></label>
<label>To <input type="date" name="to" value="${to}"></label>
<label>Account <input name="account" value="${account}" placeholder="all" autocomplete="off" spellcheck="false"></label>
<label>Model <input name="model" value="${model}" placeholder="all" list="models" autocomplete="off" spellcheck="false"></label>
<datalist id="models">${catalog.models.map(({ id }) => html`<option value="${id}"></option>`)}</datalist>
<label>Chart <select name="show">${[...measures].map(
    ([name, { title }]) =>
      html`<option value="${name}" ${name === measure && html`selected`}>${title}</option>`,
  )}</select></label>
<button class="primary">Show</button>
</form>`;
}

function totals(sums: readonly UsageSum[]): Html {
  const total = totalOf(sums);
  const figure = (title: string, value: Part, more: Part = '') =>
    html`<div class="figure"><dt>${title}</dt><dd><strong>${value}</strong> <span class="muted">${more}</span></dd></div>`;
  return html`<dl class="figures panel">
${figure('Requests', numberOf(total.requests), `${numberOf(total.failed_requests)} failed`)}
${figure('Prompt tokens', numberOf(total.prompt_tokens), `${numberOf(total.cached_tokens)} cached`)}
${figure('Completion tokens', numberOf(total.completion_tokens), `${numberOf(total.reasoning_tokens)} reasoning`)}
${figure('Cost', dollars(total.cost_usd), total.estimated_requests > 0 && `${numberOf(total.estimated_requests)} estimated`)}
</dl>`;
}

function byModel(sums: readonly UsageSum[], question: UsageQuestion): Html {
  const lines = totalsBy(sums, 'model')
    .map(([model, total]) => ({
      name: model || no_model,
      link: linkOf('usage', queryOf({ ...question, model })),
      total,
    }))
    .sort((a, b) => Number(b.total.cost_usd) - Number(a.total.cost_usd));
  return usagePanel('model', lines, question);
}

function byAccount(accounts: readonly UsageSum[], question: UsageQuestion): Html {
  const lines = accounts.slice(0, max_accounts).map(sum => ({
    name: sum.account!,
    link: linkOf('usage', queryOf({ ...question, account: sum.account! })),
    total: sum,
  }));
  const isCut = accounts.length > max_accounts;
  const note = isCut && muted(`The ${max_accounts} most expensive; the export has all.`);
  return usagePanel('account', lines, question, note);
}

function byPeriod(sums: readonly UsageSum[], question: UsageQuestion): Html {
  const unit = unitOf(question);
  const lines = totalsBy(sums, unit).map(([name, total]) => ({ name, total }));
  return usagePanel(unit, lines.reverse(), question);
}

/** A table of usage by `group`, with a link to export it. */
function usagePanel(
  group: UsageGroup,
  lines: readonly UsageLine[],
  question: UsageQuestion,
  note: Part = '',
): Html {
  const table = usageTable(`Usage by ${group}`, `${group[0]!.toUpperCase()}${group.slice(1)}`, lines);
  const link = exportLink(question, [group], `CSV by ${group}`);
  return panel(group, `By ${group}`, html`${table}<div class="pager">${note}${link}</div>`);
}

function exportLink(question: UsageQuestion, by: readonly UsageGroup[], label: string): Html {
  const link = linkOf('usage-csv', queryOf(question));
  return html`<a class="button" href="${link}${by.map(group => `&by=${group}`).join('')}" download>${label}</a>`;
}

function nothing(question: UsageQuestion): Html {
  const { from, to, account, model } = queryOf(question);
  const whose = account === undefined ? '' : ` of the account “${account}”`;
  const which = model === undefined ? '' : ` with the model “${model}”`;
  return emptyState(
    `The ledger has nothing${whose}${which} from ${from} to ${to}.`,
    account === undefined && model === undefined
      ? html`Choose other days above. Exchanges appear here seconds after they end; <a href="keys">issue a key</a> to make the first.`
      : html`<a href="${linkOf('usage', { from, to })}">Show all accounts and models</a>`,
  );
}
