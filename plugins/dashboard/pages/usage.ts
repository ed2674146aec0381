import {
  dayOf,
  type ExtensionContext,
  no_model as none,
  type Totals,
  totalOf,
  type UsageGroup,
} from '../../../src/plugin.ts';
import type { Page, PageRequest } from '../page-request.ts';
import type { PageResponse } from '../page-response.ts';
import { errorsText } from '../view/error-counts.ts';
import { changeOf, dollars, dollarText, linkOf, muted, numberOf } from '../view/format.ts';
import { type Html, html, type Part } from '../view/html.ts';
import { figure, pageResponse, panel } from '../view/shell.ts';
import { emptyState } from '../view/table.ts';
import { type UsageLine, usageTable } from '../view/usage-table.ts';
import { apartOf, chartOf, measures, rangeText } from './usage-chart.ts';
import { chartTabs, usageFilters } from './usage-controls.ts';
import { max_lines, type UsageFigures, usageFigures } from './usage-figures.ts';
import {
  type ChartGroup,
  daysLink,
  exportLink,
  fieldsOf,
  nameLink,
  type UsageView,
  usageView,
} from './usage-view.ts';

/** Totals of the ledger over time, by model, account, provider or key. */
export const usagePage: Page = { name: 'usage', get: shown };

async function shown(request: PageRequest): Promise<PageResponse> {
  const { context } = request;
  const { view, fault } = usageView(request);
  const figures = await usageFigures(context, view);
  const names = await namesOf(context, view, figures);
  const { periods } = figures;
  const isEmpty = periods.length === 0;
  const body = isEmpty
    ? html`<section class="panel" aria-label="Usage">${nothing(view)}</section>`
    : html`${tiles(context, view, figures)}
${chartPanel(context, view, figures, names)}
${groupPanel(view, figures, names)}
${periodPanel(view, figures)}`;
  return pageResponse(request, {
    title: 'Usage',
    section: 'usage',
    fault,
    scripts: ['charts.js'],
    beside:
      !isEmpty &&
      csvButton(
        view,
        view.scope.account ? ['day', 'model', 'key'] : ['day', 'account', 'model'],
        'Export all as CSV',
      ),
    body: html`${keptNotice(request)}${usageFilters(request, view, names)}${leftOut(view, figures)}${body}`,
  });
}

/** Totals as figures, each with its change since the time before if that is known. */
function tiles(context: ExtensionContext, { scope }: UsageView, figures: UsageFigures): Html {
  const { total, before } = figures;
  const was = before && totalOf(before.periods);
  const tile = (title: string, value: Part, of: (totals: Totals) => number, more: Part) =>
    figure(title, value, more, was && changeOf(of(total), of(was)));
  const { requests, prompt_tokens, cached_tokens, completion_tokens, reasoning_tokens } = total;
  const estimated = total.estimated_requests > 0 && `${numberOf(total.estimated_requests)} estimated`;
  return html`<section class="panel" aria-label="Totals"><dl class="figures">
${tile('Requests', numberOf(requests), totals => totals.requests, errorsText(total, scope))}
${tile('Prompt tokens', numberOf(prompt_tokens), totals => totals.prompt_tokens, `${numberOf(cached_tokens)} cached`)}
${tile('Completion tokens', numberOf(completion_tokens), totals => totals.completion_tokens, `${numberOf(reasoning_tokens)} reasoning`)}
${scope.sees.money && tile('Cost', dollars(total.cost_usd), ({ cost_usd }) => Number(cost_usd), estimated)}
${scope.sees.margins && total.margin_usd && tile('Margin', dollars(total.margin_usd), ({ margin_usd = 0 }) => Number(margin_usd), `of ${numberOf(total.paid_requests!)} requests, for which ${dollarText(Number(total.paid_usd))} is paid`)}
</dl>${comparedWith(context, figures)}</section>`;
}

/** With what the changes compare. */
function comparedWith({ clock }: ExtensionContext, { question, before }: UsageFigures): Part {
  if (!before) return '';
  const { from_day, to_day } = before.question;
  const isOver = question.to_day < dayOf(clock.epoch_ms());
  return muted(`Compared with ${rangeText(from_day, to_day)}${isOver ? '.' : '; today is not over.'}`);
}

const keptNotice = ({ context, scope }: PageRequest): Part =>
  scope.sees.internals &&
  context.records.isMemory &&
  html`<p class="notice warn">The ledger is in memory and is lost on exit. Set <code>stores.records</code> to a SQLite file or a Postgres database to keep it.</p>`;

const leftOut = ({ question: asked, scope }: UsageView, { question }: UsageFigures): Part =>
  question.from_day !== asked.from_day &&
  html`<p class="notice warn">Usage by ${scope.sees.internals && 'provider and '}key is known from ${question.from_day} on; earlier days are left out.</p>`;

/** Names of the group as people know them, by the names in the sums. */
type Names = ReadonlyMap<string, string>;

async function namesOf(
  { records }: ExtensionContext,
  { group, question, scope }: UsageView,
  { lines }: UsageFigures,
): Promise<Names> {
  const ids = group === 'key' ? lines.map(({ key }) => key!) : [];
  const [keys, asked] = await Promise.all([
    records.store.keys.named(ids.filter(Boolean)),
    question.key ? records.store.keys.find(question.key) : undefined,
  ]);
  // That of another account has no usage here, and is not named either.
  const named = asked && asked.account === question.account ? [asked, ...keys] : keys;
  return new Map([
    ...named.map(({ id, name, hint }): [string, string] => [id, `${name || id} …${hint}`]),
    ['', group !== 'key' ? none : scope.account ? '(none of the portal)' : 'keys of the configuration'],
  ]);
}

function chartPanel(context: ExtensionContext, view: UsageView, figures: UsageFigures, names: Names): Html {
  const { group } = view;
  const { question, unit, lines, before } = figures;
  const series = apartOf(lines).map(line => ({
    id: line[group]!,
    name: names.get(line[group]!) ?? line[group]!,
  }));
  const more = lines.length - series.length;
  const count = lines.length > max_lines ? 'all' : more;
  const measure = measures[view.measure];
  const chart = chartOf(
    {
      span: { ...question, unit },
      group,
      series,
      listed: listedOf(context, group),
      others: more > 0 ? `${count} other ${group}s` : undefined,
      periods: figures.periods,
      parts: figures.parts,
      // Months begin with the first entry, and so have no counterpart.
      before:
        unit === 'month' || !before
          ? undefined
          : { span: { ...before.question, unit }, periods: before.periods },
      linkOf: label => periodLink(view, figures, label),
    },
    measure,
  );
  return panel('chart', `${measure.title} by ${unit}`, html`${chartTabs(view)}${chart}`);
}

/** Names in the order of the configuration, which gives them their looks. */
function listedOf({ catalog, providers }: ExtensionContext, group: ChartGroup): string[] {
  if (group === 'provider') return providers.map(({ name }) => name);
  return group === 'model' ? catalog.models.map(({ id }) => id) : [];
}

/** A day by the hour, a month by the day, the requests of an hour. */
function periodLink(view: UsageView, { unit }: UsageFigures, label: string): string {
  if (unit === 'day') return daysLink(view, label, label);
  if (unit === 'month') {
    const [year, month] = label.split('-').map(Number) as [number, number];
    return daysLink(view, `${label}-01`, dayOf(Date.UTC(year, month, 0)));
  }
  const { account, model, provider, key } = fieldsOf(view);
  const time = (epoch_ms: number) => `${new Date(epoch_ms).toISOString().slice(0, 16)}Z`;
  const from_ms = Date.parse(`${label.replace(' ', 'T')}Z`);
  return linkOf('requests', {
    since: time(from_ms),
    until: time(from_ms + 3_600_000),
    account,
    model,
    provider,
    key: key === none ? undefined : key,
  });
}

function groupPanel(view: UsageView, { lines }: UsageFigures, names: Names): Html {
  const { group, measure } = view;
  const shownLines = lines.slice(0, max_lines).map(sum => {
    const id = sum[group]!;
    return { name: names.get(id) ?? id, link: nameLink(view, id || none), total: sum };
  });
  const note =
    lines.length > max_lines &&
    muted(`The ${max_lines} with the most ${measures[measure].title.toLowerCase()}; the export has all.`);
  return usagePanel(view, group, shownLines, note);
}

function periodPanel(view: UsageView, figures: UsageFigures): Html {
  const { unit, periods } = figures;
  const lines = periods.map(sum => ({
    name: html`<span class="nowrap">${sum[unit]}</span>`,
    link: periodLink(view, figures, sum[unit]!),
    total: sum,
  }));
  return usagePanel(view, unit, lines.reverse());
}

/** A table of usage by `group`, with a link to export it. */
function usagePanel(view: UsageView, group: UsageGroup, lines: readonly UsageLine[], note: Part = ''): Html {
  const title = `${group[0]!.toUpperCase()}${group.slice(1)}`;
  const table = usageTable(view.scope, `Usage by ${group}`, title, lines);
  const button = csvButton(view, [group], `CSV by ${group}`);
  return panel(group, `By ${group}`, html`${table}<div class="pager">${note}${button}</div>`);
}

const csvButton = (view: UsageView, by: readonly UsageGroup[], label: string): Html =>
  html`<a class="button" href="${exportLink(view, by)}" download>${label}</a>`;

function nothing(view: UsageView): Html {
  const { from, to, account, model, provider, key } = fieldsOf(view);
  const whose = account === undefined ? '' : ` of the account “${account}”`;
  const which = model === undefined ? '' : ` with the model “${model}”`;
  const where = provider === undefined ? '' : ` at the provider “${provider}”`;
  return emptyState(
    `The ledger has nothing${whose}${which}${where} from ${from} to ${to}.`,
    [account, model, provider, key].every(name => name === undefined)
      ? html`Choose other days above. Exchanges appear here seconds after they end; <a href="keys">issue a key</a> to make the first.`
      : html`<a href="${linkOf('usage', { from, to })}">Show all usage of this time</a>`,
  );
}
