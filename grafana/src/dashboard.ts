import {
  type Dashboard,
  DashboardBuilder,
  DashboardCursorSync,
  DashboardLinkBuilder,
  DashboardLinkType,
  DatasourceVariableBuilder,
  QueryVariableBuilder,
  RowBuilder,
  VariableRefresh,
  VariableSort,
} from '@grafana/grafana-foundation-sdk/dashboard';
import { built, type Panel } from './panel.ts';

/** Panels under one heading. */
export interface Row {
  readonly title: string;
  readonly panels: readonly Panel[];
}

/** A dashboard as what it shows. */
export interface Board {
  /** Also the name of its file, and what links lead to. */
  readonly uid: string;
  readonly title: string;
  readonly description: string;
  readonly rows: readonly Row[];
}

const datasource = { type: 'prometheus', uid: '$datasource' };

/** Grafana's dashboard of `board`, with the variables and links that all of them share. */
export function dashboardOf({ uid, title, description, rows }: Board): Dashboard {
  const builder = new DashboardBuilder(`sluice: ${title}`)
    .uid(uid)
    .description(description)
    .tags(['sluice'])
    .refresh('30s')
    .time({ from: 'now-1h', to: 'now' })
    .timezone('browser')
    .tooltip(DashboardCursorSync.Crosshair)
    .withVariable(new DatasourceVariableBuilder('datasource').label('Data source').type('prometheus'))
    .withVariable(labelVariable('model', 'Model', 'gen_ai_request_model', 'sluice_requests_total'))
    .withVariable(
      labelVariable(
        'provider',
        'Provider',
        'sluice_provider',
        'gen_ai_client_operation_duration_seconds_count',
      ),
    )
    .link(
      new DashboardLinkBuilder('sluice')
        .type(DashboardLinkType.Dashboards)
        .tags(['sluice'])
        .includeVars(true)
        .keepTime(true),
    );
  for (const row of rows) {
    builder.withRow(new RowBuilder(row.title));
    for (const panel of row.panels) builder.withPanel(built(panel));
  }
  return builder.build();
}

const labelVariable = (name: string, label: string, from: string, metric: string): QueryVariableBuilder =>
  new QueryVariableBuilder(name)
    .label(label)
    .datasource(datasource)
    .query({ query: `label_values(${metric}, ${from})`, refId: name })
    .multi(true)
    .includeAll(true)
    .allValue('.*')
    .current({ text: 'All', value: '$__all' })
    .refresh(VariableRefresh.OnTimeRangeChanged)
    .sort(VariableSort.AlphabeticalAsc);
