import {
  type Dashboard,
  DashboardBuilder,
  DashboardCursorSync,
  DashboardLinkBuilder,
  DashboardLinkType,
  RowBuilder,
} from '@grafana/grafana-foundation-sdk/dashboard';
import { annotated, annotations } from './annotations.ts';
import { layout, type Row } from './layout.ts';
import { logs, logVariables } from './logs.ts';
import { built, type Panel } from './panel.ts';
import type { Expr } from './promql.ts';
import { requestLink, requestVariables, traces } from './traces.ts';
import { type LabelVariable, labelVariable, labelVariables, prometheusVariable } from './variables.ts';

/** A dashboard as what it shows. */
export interface Board {
  /** Also the name of its file, and what links lead to. */
  readonly uid: string;
  readonly title: string;
  readonly description: string;
  readonly rows: readonly Row[];
  /** Ids of the row and the panel that show requests from their traces, on the dashboard that has them. */
  readonly traces?: readonly [row: number, panel: number];
  /** The same of the row and the panel of the log. */
  readonly logs?: readonly [row: number, panel: number];
}

/** All queries of a dashboard's panels. */
export const queriesOf = ({ rows }: Board): readonly Expr[] =>
  rows.flatMap(({ panels }) => panels.flatMap(({ queries }) => Object.values(queries)));

/** Grafana's dashboard of `board`, with the variables, annotations and links that all of them share. */
export function dashboardOf(board: Board): Dashboard {
  const builder = new DashboardBuilder(`sluice: ${board.title}`)
    .uid(board.uid)
    .description(board.description)
    .tags(['sluice'])
    .refresh('30s')
    .time({ from: 'now-1h', to: 'now' })
    .timezone('browser')
    .tooltip(DashboardCursorSync.Crosshair)
    .withVariable(prometheusVariable())
    .link(linkToOthers());
  for (const variable of labelVariables(queriesOf(board))) builder.withVariable(labelVariable(variable));
  for (const annotation of annotations) builder.annotation(annotated(annotation));
  addPanels(builder, board);
  const { links = [], annotations: events, ...dashboard } = builder.build();
  return {
    ...dashboard,
    links: links.map(inSight),
    annotations: { list: events.list?.map(inSight) ?? [] },
  };
}

/** The SDK would put links and the switches of annotations into a closed menu. */
const inSight = <T extends { readonly placement?: unknown }>({ placement: _, ...shown }: T) => shown;

function addPanels(builder: DashboardBuilder, board: Board): void {
  const { rows, traces: ids, logs: logIds } = board;
  const places = layout(rows);
  const filters = labelVariables(queriesOf(board)).filter(({ all }) => all !== undefined);
  for (const row of rows) {
    builder.withRow(new RowBuilder(row.title).id(row.id).gridPos(places.get(row)!));
    for (const panel of row.panels) {
      const text = described(panel, filters);
      builder.withPanel(built(panel).description(text).gridPos(places.get(panel)!));
    }
  }
  if (!ids) return;
  for (const variable of requestVariables()) builder.withVariable(variable);
  const y = Math.max(...[...places.values()].map(place => place.y + place.h));
  builder.link(requestLink()).withRow(traces(ids, { x: 0, y, w: 24, h: 1 }));
  if (!logIds) return;
  for (const variable of logVariables()) builder.withVariable(variable);
  builder.withRow(logs(logIds, { x: 0, y: y + 1, w: 24, h: 1 }));
}

/** A panel's description, with the filters above the panels that do not change it. */
function described({ description, queries }: Panel, filters: readonly LabelVariable[]): string {
  const expr = Object.values(queries).join();
  const without = filters.filter(({ name }) => !expr.includes(`$${name}`)).map(({ title }) => title);
  return without.length === 0 ? description : `${description} Not narrowed by ${without.join(' and ')}.`;
}

const linkToOthers = (): DashboardLinkBuilder =>
  new DashboardLinkBuilder('sluice')
    .type(DashboardLinkType.Dashboards)
    .tags(['sluice'])
    .includeVars(true)
    .keepTime(true);
