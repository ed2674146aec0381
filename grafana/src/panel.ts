import {
  BigValueColorMode,
  BigValueGraphMode,
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
import { DataqueryBuilder } from '@grafana/grafana-foundation-sdk/prometheus';
import { PanelBuilder as StatBuilder } from '@grafana/grafana-foundation-sdk/stat';
import { PanelBuilder as SeriesBuilder } from '@grafana/grafana-foundation-sdk/timeseries';

/** A query of a panel. `$model`, `$provider` and `$__rate_interval` stand for what Grafana puts there. */
export interface Query {
  readonly expr: string;
  /** Labels in double braces stand for their values. */
  readonly legend: string;
}

/** Where a figure becomes worrying, and where it is bad. */
export interface Thresholds {
  readonly warn: number;
  readonly bad: number;
  /** Small values are the bad ones. */
  readonly falling?: boolean;
}

/** A panel as what it says: everything else about its looks is the same for all. */
export interface Panel {
  readonly kind: 'series' | 'stacked' | 'stat';
  readonly title: string;
  /** What is seen here, and what to make of it. */
  readonly description: string;
  /** Grafana's id of a unit. */
  readonly unit: string;
  readonly queries: readonly [Query, ...Query[]];
  readonly thresholds?: Thresholds;
  /** Of 24 columns. */
  readonly width?: number;
  /** The uid of the dashboard that tells more. */
  readonly leadsTo?: string;
  /** True for what has no data while nothing is wrong, or while the part it shows is not in use. */
  readonly mayBeEmpty?: boolean;
}

const datasource = { type: 'prometheus', uid: '$datasource' };

/** Grafana's panel of `panel`. */
export function built(panel: Panel): StatBuilder | SeriesBuilder {
  return panel.kind === 'stat' ? stat(panel) : series(panel);
}

function stat(panel: Panel): StatBuilder {
  const builder = new StatBuilder()
    .height(4)
    .span(panel.width ?? 4)
    .graphMode(BigValueGraphMode.Area)
    .colorMode(panel.thresholds ? BigValueColorMode.Background : BigValueColorMode.Value);
  return described(builder, panel);
}

function series(panel: Panel): SeriesBuilder {
  const builder = new SeriesBuilder()
    .height(8)
    .span(panel.width ?? 12)
    .min(0)
    .fillOpacity(panel.kind === 'stacked' ? 40 : 8)
    .lineWidth(1)
    .tooltip(new VizTooltipOptionsBuilder().mode(TooltipDisplayMode.Multi).sort(SortOrder.Descending))
    .legend(
      new VizLegendOptionsBuilder()
        .displayMode(LegendDisplayMode.Table)
        .placement(LegendPlacement.Bottom)
        .showLegend(true)
        .calcs(['mean', 'max', 'lastNotNull']),
    );
  if (panel.kind === 'stacked')
    builder.stacking(new StackingConfigBuilder().mode(StackingMode.Normal).group('all'));
  return described(builder, panel);
}

function described<B extends StatBuilder | SeriesBuilder>(builder: B, panel: Panel): B {
  builder.title(panel.title).description(panel.description).unit(panel.unit).datasource(datasource);
  if (panel.mayBeEmpty) builder.noValue('0');
  for (const [at, { expr, legend }] of panel.queries.entries()) {
    const query = new DataqueryBuilder()
      .expr(expr)
      .legendFormat(legend)
      .refId(String.fromCharCode(65 + at))
      .range();
    builder.withTarget(query.exemplar(expr.includes('_bucket')));
  }
  if (panel.thresholds) builder.thresholds(steps(panel.thresholds));
  if (panel.leadsTo !== undefined) {
    const url = `/d/${panel.leadsTo}?\${__url_time_range}&\${model:queryparam}&\${provider:queryparam}`;
    builder.links([new DashboardLinkBuilder('More').title('More').url(url)]);
  }
  return builder;
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
