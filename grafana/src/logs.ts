import {
  DatasourceVariableBuilder,
  RowBuilder,
  TextBoxVariableBuilder,
} from '@grafana/grafana-foundation-sdk/dashboard';
import { PanelBuilder } from '@grafana/grafana-foundation-sdk/logs';
import { DataqueryBuilder } from '@grafana/grafana-foundation-sdk/loki';
import type { Place } from './layout.ts';

const loki = { type: 'loki', uid: '$logs' };
/** Where the lines are, since labels differ with what collects them, and the least level: 40 for warnings, 30 for every exchange. */
export const logVariables = () => [
  new DatasourceVariableBuilder('logs').label('Logs').type('loki'),
  new TextBoxVariableBuilder('log_stream').label('Log stream').defaultValue('{service_name="sluice"}'),
  new TextBoxVariableBuilder('log_level').label('Log level').defaultValue('40'),
];

/** Lines of the log, of all requests or of one. The row is closed until it is wanted: not everybody has a Loki. */
export function logs(ids: readonly [row: number, panel: number], { y, w }: Place): RowBuilder {
  const query = new DataqueryBuilder()
    .refId('A')
    .datasource(loki)
    // Collectors often have a label `level` of their own.
    .expr('$log_stream |= "$request_id" | json severity="level" | severity >= $log_level')
    .maxLines(200);
  const panel = new PanelBuilder()
    .id(ids[1])
    .title('Log')
    .description(
      'The newest lines from the level on that is entered above, or those of the request whose id is.',
    )
    .datasource(loki)
    .showTime(true)
    .enableLogDetails(true)
    .withTarget(query)
    .gridPos({ x: 0, y: y + 1, w, h: 10 });
  return new RowBuilder('Log').id(ids[0]).collapsed(true).gridPos({ x: 0, y, w, h: 1 }).withPanel(panel);
}
