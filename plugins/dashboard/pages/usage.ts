import { no_model as none, RecordRefused, type TaggedSum, totalOf } from '../../../src/plugin.ts';
import type { Page, PageRequest } from '../page-request.ts';
import type { PageResponse } from '../page-response.ts';
import { max_lines, monthsBefore, type UsageFigures, usageFigures } from '../usage-figures.ts';
import { measures, measuresFor } from '../usage-measures.ts';
import {
  accountOf,
  drillLink,
  exportLink,
  fieldsOf,
  type Grouping,
  groupsOf,
  type PresetName,
  presets,
  type UsageView,
  usageView,
  viewLink,
} from '../usage-view.ts';
import { accountField } from '../view/account-field.ts';
import { linkOf, muted } from '../view/format.ts';
import { type Html, html, type Part } from '../view/html.ts';
import { recordList } from '../view/list.ts';
import { dayField, listOf, searchForm, textField } from '../view/search-form.ts';
import { inMemoryNotice, pageResponse, panel } from '../view/shell.ts';
import { emptyState } from '../view/table.ts';
import { zoneName } from '../view/time-zone.ts';
import { periodLink, type ShownUsage, titleOf, usageChart, usageTiles } from '../view/usage-chart.ts';
import { type UsageLine, usageColumns } from '../view/usage-table.ts';

/** Totals of the ledger over time; each line leads to what it is made of. */
export const usagePage: Page = { name: 'usage', get: shown };

async function shown(request: PageRequest): Promise<PageResponse> {
  const { context } = request;
  const { view, fault } = usageView(request);
  const figures = await usageFigures(context, view).catch(refused);
  const found = typeof figures === 'string' || figures.periods.length === 0 ? undefined : figures;
  const nameOf = await namesOf(request, view, found?.lines ?? []);
  const page = found && { context, view, figures: found, nameOf };
  return pageResponse(request, {
    title: 'Usage',
    section: 'usage',
    fault: fault ?? (typeof figures === 'string' ? `${figures}.` : undefined),
    scripts: ['charts.js', 'accounts.js'],
    beside: page && buttons(view),
    body: html`${inMemoryNotice(request)}${await controls(request, view, nameOf)}${page ? parts(request, page) : html`<section class="panel" aria-label="Usage">${nothing(view)}</section>`}`,
  });
}

/** Why there are no figures, such as too many sums by key. */
function refused(thrown: unknown): string {
  if (thrown instanceof RecordRefused) return thrown.message;
  throw thrown;
}

const buttons = (view: UsageView): Html =>
  html`<div class="pager">${accountOf(view) !== undefined && html`<a class="button" href="${linkOf('statement', { account: view.filters.get('account') })}">Statement</a>`}
<a class="button" href="${exportLink(view, view.scope.account ? ['day', 'model', 'key'] : ['day', 'account', 'model'])}" download>Export all as CSV</a></div>`;

function parts(request: PageRequest, page: ShownUsage): Html {
  const { view, figures } = page;
  const tabs = measuresFor(view.scope).map(name =>
    choice(viewLink(view, { measure: name }), measures[name].title, name === view.measure),
  );
  const chart = html`<div class="tabs"><nav class="choices" aria-label="Measure">${tabs}</nav></div>${usageChart(page)}`;
  return html`${leftOut(view, figures)}<section class="panel" aria-label="Totals">${usageTiles(page)}</section>
${panel('chart', `${measures[view.measure].title} by ${figures.unit}`, chart)}
${linesPanel(request, page)}`;
}

const leftOut = (view: UsageView, { from_day }: UsageFigures): Part =>
  from_day !== view.from_day &&
  html`<p class="notice warn">Usage by ${view.scope.sees.internals && 'provider and '}key is known from ${from_day} on; earlier days are left out.</p>`;

async function namesOf(
  { context: { records }, scope }: PageRequest,
  view: UsageView,
  lines: readonly TaggedSum[],
): Promise<ShownUsage['nameOf']> {
  const ids = view.group === 'key' ? lines.map(({ key }) => key!) : [];
  const asked = view.filters.get('key');
  const [keys, one] = await Promise.all([
    records.store.keys.named(ids.filter(Boolean)),
    asked ? records.store.keys.find(asked) : undefined,
  ]);
  // That of another account has no usage here, and is not named either.
  const named = one && one.account === accountOf(view) ? [one, ...keys] : keys;
  const names = new Map(named.map(({ id, name, hint }) => [id, `${name || id} …${hint}`]));
  const others = scope.account ? '(none of the portal)' : 'keys of the configuration';
  return (group, id) => (id === '' ? (group === 'key' ? others : none) : (names.get(id) ?? id));
}

/** A line for each name of the group, which leads to what it is made of, and the total. */
function linesPanel(request: PageRequest, page: ShownUsage): Html {
  const { view, figures } = page;
  const { group, measure, scope } = view;
  const lines = figures.lines.slice(0, max_lines).map(sum => lineOf(page, sum));
  const total: UsageLine = { name: '', shown: 'Total', total: figures.total, before: figures.before?.total };
  const by = group === 'time' ? figures.unit : group;
  const title = titleOf(by as Grouping);
  const tabs = groupsOf(view).map(name =>
    choice(viewLink(view, { group: name }), `By ${titleOf(name)}`, name === group),
  );
  const list = recordList(addressOf(request, view), {
    label: `Usage by ${title}`,
    columns: usageColumns(scope, title[0]!.toUpperCase() + title.slice(1), measure, [...lines, total]),
    rows: lines,
    total,
    csv: exportLink(view, [by]),
  });
  const isCut = figures.lines.length > lines.length;
  const note = `The ${max_lines} with the most ${measures[measure].title.toLowerCase()}; the total and the file have all.`;
  return panel(
    'lines',
    `By ${title}`,
    html`<div class="tabs"><nav class="choices" aria-label="Group">${tabs}</nav></div>${list}${isCut && muted(note)}`,
  );
}

/** The address of the view, with what is chosen of the list; nothing else that was in it. */
function addressOf({ path, query }: PageRequest, view: UsageView): Pick<PageRequest, 'path' | 'query'> {
  const kept = new URLSearchParams(viewLink(view, {}).split('?')[1]);
  for (const name of ['sort', 'order', 'columns'])
    for (const value of query.getAll(name)) kept.append(name, value);
  return { path, query: kept };
}

function lineOf({ view, figures: { unit, before }, nameOf }: ShownUsage, sum: TaggedSum): UsageLine {
  const { group } = view;
  const isTime = group === 'time';
  const by = isTime ? unit : group;
  const id = sum[by]!;
  const label = isTime && before ? monthsBefore(id, before.months) : id;
  const earlier = before?.[isTime ? 'periods' : 'lines'].find(one => one[by] === label) ?? totalOf([]);
  const name = nameOf(group, id);
  const link = isTime ? periodLink(view, unit, id) : drillLink(view, id);
  return {
    name,
    shown: html`<a href="${link}" class="${isTime && 'nowrap'}">${name}</a>${id !== '' && pagesOf(group, id)}`,
    total: sum,
    before: before && label !== undefined ? earlier : undefined,
  };
}

/** Pages about what a line stands for. */
function pagesOf(group: Grouping, id: string): Part {
  const link = (page: string, query: Record<string, string>) =>
    html` <a class="muted" href="${linkOf(page, query)}">${page}</a>`;
  if (group === 'key') return link('key', { id });
  return group === 'account' && html`${link('account', { id })}${link('statement', { account: id })}`;
}

/** What is shown: times by name, days, model and, unless it is the reader's own, account; and the way back from what it is narrowed to. */
async function controls(request: PageRequest, view: UsageView, nameOf: ShownUsage['nameOf']): Promise<Html> {
  const { catalog, clock } = request.context;
  const { account, model, ...others } = fieldsOf(view);
  const times = Object.entries(presets).map(([name, { title, days }]) => {
    const [from_day, to_day] = days(clock.epoch_ms());
    const preset = name as PresetName;
    return choice(viewLink(view, { preset, from_day, to_day }), title, name === view.preset);
  });
  const hidden = Object.entries({ ...others, by: view.group, show: view.measure });
  const fields = html`${dayField('From', view.from_day)}${dayField('To', view.to_day)}
${!view.scope.account && (await accountField(request, account ?? '', 'all'))}
${textField('Model', { name: 'model', value: model, placeholder: 'all', list: 'models' })}
${listOf(
  'models',
  catalog.models.map(({ id }) => id),
)}
${hidden.map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}
<button class="primary">Show</button>`;
  return html`<section class="panel" aria-label="What is shown">
<nav class="choices" aria-label="Time">${times}</nav>
${searchForm(request, 'usage', fields, { style: 'row' })}
${view.filters.size > 0 && wayBack(view, nameOf)}
${zoneName() !== 'UTC' && html`<p class="filter muted">Days and hours of usage are those of UTC.</p>`}
</section>`;
}

/** What it is narrowed to, each with a link to where the next was chosen. */
function wayBack(view: UsageView, nameOf: ShownUsage['nameOf']): Html {
  const filters = [...view.filters];
  const texts = filters.map(([name, id]) => html`${titleOf(name)} <strong>${nameOf(name, id)}</strong>`);
  const links = filters.map(([name], at) => {
    const link = viewLink(view, { filters: new Map(filters.slice(0, at)), group: name });
    return html`<a href="${link}">${at === 0 ? 'All usage' : texts[at - 1]}</a> › `;
  });
  return html`<div class="filter" role="group" aria-label="Narrowed to">${links}${texts.at(-1)}</div>`;
}

const choice = (link: string, title: string, isChosen: boolean): Html =>
  html`<a href="${link}" ${isChosen && html`aria-current="true"`}>${title}</a>`;

function nothing({ from_day: from, to_day: to, filters }: UsageView): Html {
  const named = [...filters].map(([name, id]) => ` of the ${titleOf(name)} “${id || none}”`);
  return emptyState(
    `The ledger has nothing${named.join('')} from ${from} to ${to}.`,
    filters.size === 0
      ? html`Choose other days above. Exchanges appear here seconds after they end; <a href="keys">issue a key</a> to make the first.`
      : html`<a href="${linkOf('usage', { from, to })}">Show all usage of this time</a>`,
  );
}
