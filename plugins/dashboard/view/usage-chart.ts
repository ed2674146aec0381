import {
  dayOf,
  type ExtensionContext,
  hour_ms,
  hourOf,
  isTagGroup,
  lastDayOf,
  no_model as none,
  type TaggedSum,
} from '../../../src/plugin.ts';
import { daysOf, max_lines, monthsBefore, type UsageFigures } from '../usage-figures.ts';
import { type Measure, measures } from '../usage-measures.ts';
import { daysLink, fieldsOf, type Grouping, type UsageView } from '../usage-view.ts';
import { chart } from './chart.ts';
import { errorsText } from './error-counts.ts';
import { changeOf, countOf, dollars, linkOf, muted, numberOf } from './format.ts';
import { type Html, html, type Part } from './html.ts';
import { looksOf } from './series-looks.ts';
import { figure } from './shell.ts';

/** Usage as it is shown. */
export interface ShownUsage {
  readonly context: ExtensionContext;
  readonly view: UsageView;
  readonly figures: UsageFigures;
  /** The name of what is in a group as people know it, by that in the sums. */
  readonly nameOf: (group: Grouping, id: string) => string;
}

/** Totals, each with its change since the same days of the month before if these are known. */
export function usageTiles({ context, view: { scope }, figures }: ShownUsage, first: Part = ''): Html {
  const { total, before } = figures;
  const tile = ({ title, of }: Measure, value: Part, more: Part) =>
    figure(title, value, more, before && changeOf(Number(of(total)), Number(of(before.total))));
  const { requests, prompt_tokens, completion_tokens, estimated_requests } = total;
  const estimated = estimated_requests > 0 && `${countOf(estimated_requests, 'request')} estimated`;
  return html`<dl class="figures">
${first}
${scope.sees.money && tile(measures.cost, dollars(total.cost_usd), estimated)}
${tile(measures.requests, numberOf(requests), errorsText(total, scope))}
${tile(measures.tokens, numberOf(prompt_tokens + completion_tokens), `${numberOf(prompt_tokens)} of prompts, ${numberOf(completion_tokens)} of completions`)}
${scope.sees.margins && total.margin_usd && figure('Margin', dollars(total.margin_usd), html`of ${numberOf(total.paid_requests!)} requests, for which ${dollars(total.paid_usd!)} is paid`)}
</dl>${comparedWith(context, figures)}`;
}

const rangeText = (from_day: string, to_day: string): string =>
  from_day === to_day ? from_day : `${from_day} to ${to_day}`;

/** With what the changes compare, and whether that is as long. */
function comparedWith({ clock }: ExtensionContext, { before, ...shown }: UsageFigures): Part {
  if (!before) return '';
  const less = daysOf(shown) - daysOf(before);
  const length = less > 0 ? `, ${less === 1 ? 'a day' : `${less} days`} less: that month is shorter` : '';
  const rest = shown.to_day < dayOf(clock.epoch_ms()) ? '.' : '; today is not over.';
  return muted(`Compared with ${rangeText(before.from_day, before.to_day)}${length}${rest}`);
}

/** A group in words. */
export const titleOf = (group: Grouping): string => (isTagGroup(group) ? group.slice('tag:'.length) : group);

const axes = { hour: 'Hour', day: 'Day', month: 'Month' } as const;

/** Bars of what is measured for every hour or day. Months begin and end with the ledger's first and last entry. */
export function usageChart({ context, view, figures, nameOf }: ShownUsage): Html {
  const { group, measure } = view;
  const { unit, lines, series, before } = figures;
  const { title, unit: amounts, of } = measures[measure];
  const by = group === 'time' ? unit : group;
  const labels = labelsOf(figures);
  const whole = sizesBy(figures.periods, sum => sum[unit]!, of);
  const part = sizesBy(figures.parts, sum => `${sum[unit]}\n${sum[by]}`, of);
  const looks = looksOf(series, listedOf(context, group));
  const layers = series.map((id, at) => ({
    name: nameOf(group, id),
    look: looks[at],
    values: labels.map(label => part.get(`${label}\n${id}`) ?? 0),
  }));
  const rest = labels.map((label, at) => {
    const left = layers.reduce((size, { values }) => size - values[at]!, whole.get(label) ?? 0);
    // Differences of floating point are nothing.
    return left > 1e-9 ? left : 0;
  });
  const more = lines.length - series.length;
  const others = `${lines.length > max_lines ? 'all' : more} other ${titleOf(group)}s`;
  const remainder = { name: series.length === 0 ? title : others, look: undefined, values: rest };
  return chart({
    label: `${title} by ${unit}`,
    kind: 'bars',
    axis: axes[unit],
    unit: amounts,
    points: labels.map(label => ({
      label,
      tick: unit === 'hour' ? label.slice(11) : label,
      link: periodLink(view, unit, label),
    })),
    series: more > 0 ? [...layers, remainder] : layers,
    ...(before && { before: beforeOf(before, unit, labels, of) }),
  });
}

/** By bar the one of the same name so many months before. */
function beforeOf(
  { months, periods, from_day, to_day }: NonNullable<UsageFigures['before']>,
  unit: UsageFigures['unit'],
  labels: readonly string[],
  of: Measure['of'],
) {
  const sizes = sizesBy(periods, sum => sum[unit]!, of);
  const points = labels.map(name => {
    const label = monthsBefore(name, months);
    return label === undefined ? undefined : { label, value: sizes.get(label) ?? 0 };
  });
  return { name: rangeText(from_day, to_day), points };
}

const sizesBy = (
  sums: readonly TaggedSum[],
  nameOf: (sum: TaggedSum) => string,
  of: Measure['of'],
): ReadonlyMap<string, number> => new Map(sums.map(sum => [nameOf(sum), Number(of(sum))]));

/** Names in the order of the configuration, which gives them their looks. */
function listedOf({ catalog, providers }: ExtensionContext, group: Grouping): string[] {
  if (group === 'provider') return providers.map(({ name }) => name);
  return group === 'model' ? catalog.models.map(({ id }) => id) : [];
}

/** A month by the day, a day by the hour, the requests of an hour. */
export function periodLink(view: UsageView, unit: UsageFigures['unit'], label: string): string {
  if (unit === 'day') return daysLink(view, label, label);
  if (unit === 'month') return daysLink(view, `${label}-01`, lastDayOf(label));
  const { key, ...fields } = fieldsOf(view);
  const from_ms = Date.parse(`${label.replace(' ', 'T')}Z`);
  const [since, until] = [from_ms, from_ms + hour_ms].map(
    at => `${new Date(at).toISOString().slice(0, 16)}Z`,
  );
  return linkOf('requests', { since, until, ...fields, key: key === none ? undefined : key });
}

/** Every hour or day, or every month from the first to the last with data. */
function labelsOf({ periods, from_day, to_day, unit }: UsageFigures): string[] {
  if (unit === 'hour')
    return Array.from({ length: 24 }, (_, at) => hourOf(Date.parse(from_day) + at * hour_ms));
  const first = unit === 'month' ? periods[0]!.month! : from_day;
  const last = unit === 'month' ? periods.at(-1)!.month! : to_day;
  const [year, month, day = 1] = first.split('-').map(Number) as [number, number, number?];
  const labels: string[] = [];
  for (let step = 0; ; step++) {
    const at = unit === 'month' ? Date.UTC(year, month - 1 + step, 1) : Date.UTC(year, month - 1, day + step);
    const label = dayOf(at).slice(0, first.length);
    if (label > last) return labels;
    labels.push(label);
  }
}
