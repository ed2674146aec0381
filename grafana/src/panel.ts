import {
  BigValueColorMode,
  BigValueGraphMode,
  GraphDrawStyle,
  GraphThresholdsStyleConfigBuilder,
  GraphThresholdsStyleMode,
  LegendDisplayMode,
  LegendPlacement,
  SortOrder,
  StackingConfigBuilder,
  StackingMode,
  TooltipDisplayMode,
  VizLegendOptionsBuilder,
  VizTooltipOptionsBuilder,
} from '@grafana/grafana-foundation-sdk/common';
import {
  DashboardLinkBuilder,
  ThresholdsConfigBuilder,
  ThresholdsMode,
} from '@grafana/grafana-foundation-sdk/dashboard';
import { DataqueryBuilder, PromQueryFormat } from '@grafana/grafana-foundation-sdk/prometheus';
import { PanelBuilder as StatBuilder } from '@grafana/grafana-foundation-sdk/stat';
import { PanelBuilder as TableBuilder } from '@grafana/grafana-foundation-sdk/table';
import { PanelBuilder as SeriesBuilder } from '@grafana/grafana-foundation-sdk/timeseries';
import type { Expr } from './promql.ts';

/** Where a figure becomes worrying, and where it is bad. */
export interface Thresholds {
  readonly warn: number;
  readonly bad: number;
  /** Small values are the bad ones. */
  readonly falling?: boolean;
}

/** A panel as what it says: everything else about its looks is the same for all. */
export interface Panel {
  /** Unique on its dashboard and never given to another panel: links to a panel hold it. */
  readonly id: number;
  /** `stacked`: areas whose sum says something; `stat`: the figure of now; `table`: a row for each set of labels, of now. */
  readonly kind: 'series' | 'stacked' | 'stat' | 'table';
  readonly title: string;
  /** What is seen here, and what to make of it. */
  readonly description: string;
  /** Grafana's id of a unit. */
  readonly unit: string;
  /** By legend, in which labels in double braces stand for their values; in a table by the column's title. */
  readonly queries: Readonly<Record<string, Expr>>;
  /** Units of the columns of a table that have another one. */
  readonly units?: Readonly<Record<string, string>>;
  /** The labels that tell a table's rows apart, and the titles of their columns. */
  readonly labels?: Readonly<Record<string, string>>;
  /** A variable of the dashboard `leadsTo`, which a click on a row's first label sets to it. */
  readonly rowSets?: string;
  readonly thresholds?: Thresholds;
  /** Of 24 columns. */
  readonly width?: number;
  /** Of lines of 38 pixels. */
  readonly height?: number;
  /** What a figure shows while it has no data. */
  readonly noValue?: string;
  /** The uid of the dashboard that tells more. */
  readonly leadsTo?: string;
}

type More = Omit<Panel, 'id' | 'kind' | 'title' | 'unit' | 'description' | 'queries'>;

const panelOf =
  (kind: Panel['kind']) =>
  (
    id: number,
    title: string,
    unit: string,
    description: string,
    queries: Panel['queries'],
    more: More = {},
  ): Panel => ({ id, kind, title, unit, description, queries, ...more });

export const series = panelOf('series');
export const stacked = panelOf('stacked');
export const stat = panelOf('stat');
export const table = panelOf('table');

type Builder = StatBuilder | SeriesBuilder | TableBuilder;

export const datasource = { type: 'prometheus', uid: '$datasource' };
const dashed = new GraphThresholdsStyleConfigBuilder().mode(GraphThresholdsStyleMode.Dashed);
/** Gaps of scrapes up to this are bridged, longer ones are shown: an area with a hole pulls down all that lie on it. */
const bridged_ms = 300_000;

/** The query of a panel; `refId` is its letter. */
export const dataquery = (expr: Expr, refId: string): DataqueryBuilder =>
  new DataqueryBuilder().expr(expr).refId(refId).datasource(datasource);

export const letter = (at: number): string => String.fromCharCode(65 + at);

/** Grafana's panel of `panel`, without its description and place. */
export function built(panel: Panel): Builder {
  const builder = visualization(panel)
    .id(panel.id)
    .title(panel.title)
    .unit(panel.unit)
    .datasource(datasource);
  const isOfNow = panel.kind === 'stat' || panel.kind === 'table';
  for (const [at, [legend, expr]] of Object.entries(panel.queries).entries()) {
    const query = dataquery(expr, letter(at)).legendFormat(legend);
    if (panel.kind === 'table') query.format(PromQueryFormat.Table);
    // A figure of a range would still show its last value when nothing answers any more.
    builder.withTarget(isOfNow ? query.instant() : query.range().exemplar(expr.includes('_bucket')));
  }
  if (panel.noValue !== undefined) builder.noValue(panel.noValue);
  if (panel.thresholds) builder.thresholds(steps(panel.thresholds));
  if (panel.leadsTo !== undefined) builder.links([linkTo(panel.leadsTo)]);
  return builder;
}

/** Keeps the time range and what is selected. */
const urlOf = (uid: string): string => `/d/${uid}?\${__url_time_range}&\${__all_variables}`;

const linkTo = (uid: string): DashboardLinkBuilder =>
  new DashboardLinkBuilder('More').title('More').url(urlOf(uid));

function visualization(panel: Panel): Builder {
  if (panel.kind === 'table') return tableBuilder(panel);
  if (panel.kind === 'stat')
    return new StatBuilder()
      .graphMode(BigValueGraphMode.None)
      .colorMode(panel.thresholds ? BigValueColorMode.Background : BigValueColorMode.Value);
  const builder = new SeriesBuilder()
    .min(0)
    .drawStyle(GraphDrawStyle.Line)
    .lineWidth(1)
    .fillOpacity(0)
    .tooltip(new VizTooltipOptionsBuilder().mode(TooltipDisplayMode.Multi).sort(SortOrder.Descending))
    .legend(
      new VizLegendOptionsBuilder()
        .displayMode(LegendDisplayMode.Table)
        .placement(LegendPlacement.Bottom)
        .showLegend(true)
        .calcs(['mean', 'max', 'lastNotNull']),
    );
  if (panel.thresholds) builder.thresholdsStyle(dashed);
  if (panel.kind === 'series') return builder;
  return builder
    .fillOpacity(60)
    .spanNulls(bridged_ms)
    .stacking(new StackingConfigBuilder().mode(StackingMode.Normal).group('all'));
}

/** Grafana names the column of a query after its letter; here it gets the title and the unit that the panel gives it. */
function tableBuilder({ queries, labels = {}, units = {}, unit, leadsTo, rowSets }: Panel): TableBuilder {
  const titles = Object.keys(queries);
  const values = Object.fromEntries(titles.map((title, at) => [`Value #${letter(at)}`, title]));
  const renamed = { excludeByName: { Time: true }, renameByName: { ...labels, ...values } };
  const builder = new TableBuilder()
    .withTransformation({ id: 'merge', options: {} })
    .withTransformation({ id: 'organize', options: renamed });
  for (const title of titles) builder.overrideByName(title, [{ id: 'unit', value: units[title] ?? unit }]);
  const [first] = Object.values(labels);
  if (leadsTo === undefined || rowSets === undefined || first === undefined) return builder;
  const url = `${urlOf(leadsTo)}&var-${rowSets}=\${__value.raw}`;
  return builder.overrideByName(first, [{ id: 'links', value: [{ title: 'More', url }] }]);
}

function steps({ warn, bad, falling }: Thresholds): ThresholdsConfigBuilder {
  const rising = [
    { value: null, color: 'green' },
    { value: warn, color: 'yellow' },
    { value: bad, color: 'red' },
  ];
  const down = [
    { value: null, color: 'red' },
    { value: bad, color: 'yellow' },
    { value: warn, color: 'green' },
  ];
  return new ThresholdsConfigBuilder().mode(ThresholdsMode.Absolute).steps(falling ? down : rising);
}
