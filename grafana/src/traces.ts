import {
  DashboardLinkBuilder,
  DashboardLinkType,
  DatasourceVariableBuilder,
  RowBuilder,
  TextBoxVariableBuilder,
} from '@grafana/grafana-foundation-sdk/dashboard';
import { PanelBuilder } from '@grafana/grafana-foundation-sdk/table';
import { DataqueryBuilder, SearchTableType } from '@grafana/grafana-foundation-sdk/tempo';
import type { Place } from './layout.ts';

const tempo = { type: 'tempo', uid: '$traces' };
const pageOf = (id: string): string => `\${dashboard_url}/request?id=${id}`;
/** The attribute of a request's span that has its id. */
const request_id = 'sluice.request_id';

/** What leads from one request to its trace, and to its page in sluice's own dashboard. */
export const requestVariables = () => [
  new DatasourceVariableBuilder('traces').label('Traces').type('tempo'),
  new TextBoxVariableBuilder('request_id').label('Request id').defaultValue(''),
  new TextBoxVariableBuilder('dashboard_url')
    .label("sluice's dashboard")
    .defaultValue('http://localhost:8081/dashboard'),
];

/** The link above the panels to the page of the request whose id was entered. */
export const requestLink = (): DashboardLinkBuilder =>
  new DashboardLinkBuilder('Request in sluice')
    .type(DashboardLinkType.Link)
    .url(pageOf(`\${request_id}`))
    .targetBlank(true);

/** Requests from their traces. The row is closed until it is wanted: not everybody has a Tempo. */
export function traces(ids: readonly [row: number, panel: number], { y, w }: Place): RowBuilder {
  const query = new DataqueryBuilder()
    .refId('A')
    .datasource(tempo)
    .queryType('traceql')
    .query(
      `{ span.${request_id} =~ "\${request_id}.*" } | ` +
        `select(span.${request_id}, span.sluice.end_reason, span.sluice.model, span.http.response.status_code)`,
    )
    .tableType(SearchTableType.Spans)
    .limit(50);
  const panel = new PanelBuilder()
    .id(ids[1])
    .title('Requests in traces')
    .description(
      'The newest, or those whose id begins as entered above. Ids lead to the trace and to the request in sluice.',
    )
    .datasource(tempo)
    .withTarget(query)
    .overrideByName(request_id, [
      {
        id: 'links',
        value: [{ title: 'Request in sluice', url: pageOf(`\${__value.raw}`), targetBlank: true }],
      },
    ])
    .gridPos({ x: 0, y: y + 1, w, h: 8 });
  return new RowBuilder('Traces').id(ids[0]).collapsed(true).gridPos({ x: 0, y, w, h: 1 }).withPanel(panel);
}
