import {
  dayOf,
  type ExtensionContext,
  isTagGroup,
  lastDayOf,
  no_model as none,
  RecordRefused,
  type TaggedSum,
  type Totals,
  totalOf,
} from '../../../src/plugin.ts';
import type { Page, PageRequest } from '../page-request.ts';
import type { PageResponse } from '../page-response.ts';
import { daysOf, max_lines, monthsBefore, type UsageFigures, usageFigures } from '../usage-figures.ts';
import { type Measure, measures, measuresFor } from '../usage-measures.ts';
import {
  accountOf,
  daysLink,
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
import { errorsText } from '../view/error-counts.ts';
import { changeOf, dollars, linkOf, muted, numberOf } from '../view/format.ts';
import { type Html, html, type Part } from '../view/html.ts';
import { recordList } from '../view/list.ts';
import { dayField, listOf, searchForm, textField } from '../view/search-form.ts';
import { figure, pageResponse, panel } from '../view/shell.ts';
import { emptyState } from '../view/table.ts';
import { apartOf, usageChart } from '../view/usage-chart.ts';
import { type UsageLine, usageColumns } from '../view/usage-table.ts';

/** Totals of the ledger over time; each line leads to what it is made of. */
export const usagePage: Page = { name: 'usage', get: shown };

/** A view with its figures, and the names of its group as people know them, by the names in the sums. */
interface Shown {
  readonly request: PageRequest;
  readonly view: UsageView;
  readonly figures: UsageFigures;
  readonly names: ReadonlyMap<string, string>;
}

async function shown(request: PageRequest): Promise<PageResponse> {
  const { view, fault } = usageView(request);
  const figures = await usageFigures(request.context, view).catch(refused);
  const names = await namesOf(request.context, view, typeof figures === 'string' ? [] : figures.lines);
  const isEmpty = typeof figures === 'string' || figures.periods.length === 0;
  const all = view.scope.account ? ['day', 'model', 'key'] : ['day', 'account', 'model'];
  return pageResponse(request, {
    title: 'Usage',
    section: 'usage',
    fault: fault ?? (typeof figures === 'string' ? `${figures}.` : undefined),
    scripts: ['charts.js', 'accounts.js'],
    beside: html`<div class="pager">${placesOf(view)}${!isEmpty && html`<a class="button" href="${exportLink(view, all)}" download>Export all as CSV</a>`}</div>`,
    body: html`${keptNotice(request)}${await controls(request, view, names)}${
      isEmpty
        ? html`<section class="panel" aria-label="Usage">${nothing(view)}</section>`
        : figuresOf({ request, view, figures, names })
    }`,
  });
}

/** Why there are no figures, such as too many sums by key. */
function refused(thrown: unknown): string {
  if (thrown instanceof RecordRefused) return thrown.message;
  throw thrown;
}

const figuresOf = (page: Shown): Html => html`${leftOut(page)}${tiles(page)}
${chartPanel(page)}
${linesPanel(page)}`;

/** Totals, each with its change since the time before if that is known. */
function tiles({ request: { context }, view: { scope }, figures }: Shown): Html {
  const { total, before } = figures;
  const tile = ({ title, of }: Measure, value: Part, more: Part) => {
    const [now, was] = [total, before?.total].map(sums => sums && Number(of(sums)));
    return figure(title, value, more, was === undefined ? undefined : changeOf(now!, was));
  };
  const { requests, prompt_tokens, completion_tokens, estimated_requests } = total;
  const estimated = estimated_requests > 0 && `${numberOf(estimated_requests)} requests estimated`;
  return html`<section class="panel" aria-label="Totals"><dl class="figures">
${scope.sees.money && tile(measures.cost, dollars(total.cost_usd), estimated)}
${tile(measures.requests, numberOf(requests), errorsText(total, scope))}
${tile(measures.tokens, numberOf(prompt_tokens + completion_tokens), `${numberOf(prompt_tokens)} of prompts, ${numberOf(completion_tokens)} of completions`)}
${scope.sees.margins && total.margin_usd && figure('Margin', dollars(total.margin_usd), html`of ${numberOf(total.paid_requests!)} requests, for which ${dollars(total.paid_usd!)} is paid`)}
</dl>${comparedWith(context, figures)}</section>`;
}

const rangeText = (from_day: string, to_day: string): string =>
  from_day === to_day ? from_day : `${from_day} to ${to_day}`;

/** With what the changes compare, and whether it is as long. */
function comparedWith({ clock }: ExtensionContext, { before, ...shown }: UsageFigures): Part {
  if (!before) return '';
  const less = daysOf(shown) - daysOf(before);
  const length = less > 0 ? `, ${less === 1 ? 'a day' : `${less} days`} less: that month is shorter` : '';
  const rest = shown.to_day < dayOf(clock.epoch_ms()) ? '.' : '; today is not over.';
  return muted(`Compared with ${rangeText(before.from_day, before.to_day)}${length}${rest}`);
}

const keptNotice = ({ context, scope }: PageRequest): Part =>
  scope.sees.internals &&
  context.records.isMemory &&
  html`<p class="notice warn">The ledger is in memory and is lost on exit. Set <code>stores.records</code> to a SQLite file or a Postgres database to keep it.</p>`;

const leftOut = ({ view, figures: { from_day } }: Shown): Part =>
  from_day !== view.from_day &&
  html`<p class="notice warn">Usage by ${view.scope.sees.internals && 'provider and '}key is known from ${from_day} on; earlier days are left out.</p>`;

async function namesOf(
  { records }: ExtensionContext,
  view: UsageView,
  lines: readonly TaggedSum[],
): Promise<Shown['names']> {
  const ids = view.group === 'key' ? lines.map(({ key }) => key!) : [];
  const asked = view.filters.get('key');
  const [keys, one] = await Promise.all([
    records.store.keys.named(ids.filter(Boolean)),
    asked ? records.store.keys.find(asked) : undefined,
  ]);
  // That of another account has no usage here, and is not named either.
  const named = one && one.account === accountOf(view) ? [one, ...keys] : keys;
  return new Map([
    ...named.map(({ id, name, hint }): [string, string] => [id, `${name || id} …${hint}`]),
    ['', none],
  ]);
}

const other_keys = '(none of the portal)';
const titleOf = (group: Grouping): string => (isTagGroup(group) ? group.slice('tag:'.length) : group);
const nameOf = (
  { view: { scope } }: Pick<Shown, 'view'>,
  group: Grouping,
  id: string,
  names: Shown['names'],
) =>
  id === '' && group === 'key'
    ? scope.account
      ? other_keys
      : 'keys of the configuration'
    : (names.get(id) ?? id);

function chartPanel(page: Shown): Html {
  const {
    request: { context },
    view,
    figures,
    names,
  } = page;
  const { unit, lines, before } = figures;
  const group = view.group === 'time' ? unit : view.group;
  const apart = view.group === 'time' ? [] : apartOf(lines);
  const more = lines.length - apart.length;
  const count = lines.length > max_lines ? 'all' : more;
  const measure = measures[view.measure];
  const chart = usageChart(
    {
      span: figures,
      group,
      series: apart.map(sum => ({ id: sum[group]!, name: nameOf(page, view.group, sum[group]!, names) })),
      listed: listedOf(context, view.group),
      others: more > 0 ? `${count} other ${titleOf(view.group)}s` : undefined,
      periods: figures.periods,
      parts: figures.parts,
      before: before && { ...before, name: rangeText(before.from_day, before.to_day) },
      linkOf: label => periodLink(page, label),
    },
    measure,
  );
  const tabs = measuresFor(view.scope).map(name =>
    choice(viewLink(view, { measure: name }), measures[name].title, name === view.measure),
  );
  return panel(
    'chart',
    `${measure.title} by ${unit}`,
    html`<div class="tabs"><nav class="choices" aria-label="Measure">${tabs}</nav></div>${chart}`,
  );
}

/** Names in the order of the configuration, which gives them their looks. */
function listedOf({ catalog, providers }: ExtensionContext, group: Grouping): string[] {
  if (group === 'provider') return providers.map(({ name }) => name);
  return group === 'model' ? catalog.models.map(({ id }) => id) : [];
}

/** A month by the day, a day by the hour, the requests of an hour. */
function periodLink({ view, figures: { unit } }: Pick<Shown, 'view' | 'figures'>, label: string): string {
  if (unit === 'day') return daysLink(view, label, label);
  if (unit === 'month') return daysLink(view, `${label}-01`, lastDayOf(label));
  const { key, ...fields } = fieldsOf(view);
  const from_ms = Date.parse(`${label.replace(' ', 'T')}Z`);
  const [since, until] = [from_ms, from_ms + 3_600_000].map(
    at => `${new Date(at).toISOString().slice(0, 16)}Z`,
  );
  return linkOf('requests', { since, until, ...fields, key: key === none ? undefined : key });
}

/** A line for each name of the group, which leads to what it is made of, and the total. */
function linesPanel(page: Shown): Html {
  const { request, view, figures } = page;
  const { group, measure, scope } = view;
  const { total, before, unit } = figures;
  const lines = figures.lines.slice(0, max_lines).map(sum => lineOf(page, sum));
  const all: UsageLine = { name: '', shown: 'Total', total, before: before?.total };
  const title = group === 'time' ? unit : titleOf(group);
  const tabs = groupsOf(view).map(name =>
    choice(viewLink(view, { group: name }), `By ${titleOf(name)}`, name === group),
  );
  const list = recordList(addressOf(request, view), {
    label: `Usage by ${title}`,
    columns: usageColumns(scope, title[0]!.toUpperCase() + title.slice(1), measure, [...lines, all]),
    rows: lines,
    total: all,
    csv: exportLink(view, [group === 'time' ? unit : group]),
  });
  const isCut = figures.lines.length > lines.length && group !== 'time';
  const note = `The ${max_lines} with the most ${measures[measure].title.toLowerCase()}; the total and the file have all.`;
  return panel(
    'lines',
    `By ${title}`,
    html`<nav class="choices" aria-label="Group">${tabs}</nav>${list}${isCut && muted(note)}`,
  );
}

/** The address of the view, with what is chosen of the list; nothing else that was in it. */
function addressOf({ path, query }: PageRequest, view: UsageView): Pick<PageRequest, 'path' | 'query'> {
  const shown = new URLSearchParams(viewLink(view, {}).split('?')[1]);
  for (const name of ['sort', 'order', 'columns'])
    for (const value of query.getAll(name)) shown.append(name, value);
  return { path, query: shown };
}

function lineOf(page: Shown, sum: TaggedSum): UsageLine {
  const {
    view,
    figures: { unit, before },
    names,
  } = page;
  const { group } = view;
  const by = group === 'time' ? unit : group;
  const id = sum[by]!;
  const was = before?.[group === 'time' ? 'periods' : 'lines'];
  const label = group === 'time' && before ? monthsBefore(id, before.months) : id;
  const earlier: Totals | undefined =
    label === undefined || !was ? undefined : (was.find(one => one[by] === label) ?? totalOf([]));
  const name = nameOf(page, group, id, names);
  const link = group === 'time' ? periodLink(page, id) : drillLink(view, id);
  return {
    name,
    shown: html`<a href="${link}" class="${group === 'time' && 'nowrap'}">${name}</a>${id !== '' && pageOf(group, id)}`,
    total: sum,
    before: earlier,
  };
}

/** Pages about what a line stands for. */
const pageOf = (group: Grouping, id: string): Part => {
  if (group === 'key') return html` <a class="muted" href="${linkOf('key', { id })}">key</a>`;
  return (
    group === 'account' &&
    html` <a class="muted" href="${linkOf('account', { id })}">account</a> <a class="muted" href="${linkOf('statement', { account: id })}">statement</a>`
  );
};

/** Pages about what usage is narrowed to. */
function placesOf({ filters, scope }: UsageView): Part {
  const account = filters.get('account');
  if (account === undefined && !scope.account) return '';
  return html`<a class="button" href="${linkOf('statement', { account })}">Statement</a>`;
}

/** What is shown: times by name, days, model and, unless it is the reader's own, account; and the way back from what it is narrowed to. */
async function controls(request: PageRequest, view: UsageView, names: Shown['names']): Promise<Html> {
  const { catalog, clock } = request.context;
  const { account, model, ...others } = fieldsOf(view);
  const times = Object.entries(presets).map(([name, { title, days }]) => {
    const [from_day, to_day] = days(clock.epoch_ms());
    return choice(
      viewLink(view, { preset: name as PresetName, from_day, to_day }),
      title,
      name === view.preset,
    );
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
${view.filters.size > 0 && wayBack(view, names)}
</section>`;
}

/** What it is narrowed to, each with a link to where the next was chosen. */
function wayBack(view: UsageView, names: Shown['names']): Html {
  const filters = [...view.filters];
  const texts = filters.map(
    ([name, id]) => html`${titleOf(name)} <strong>${nameOf({ view }, name, id, names)}</strong>`,
  );
  const links = filters.map(([name], at) => {
    const link = viewLink(view, { filters: new Map(filters.slice(0, at)), group: name });
    return html`<a href="${link}">${at === 0 ? 'All usage' : texts[at - 1]}</a> › `;
  });
  return html`<div class="filter" role="group" aria-label="Narrowed to">${links}<span aria-current="true">${texts.at(-1)}</span></div>`;
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
