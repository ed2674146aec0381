import { boards } from '../../grafana/src/boards.ts';
import { queriesOf } from '../../grafana/src/dashboard.ts';
import { labelVariables } from '../../grafana/src/variables.ts';
import type { PrometheusServer } from './prometheus.ts';

/** The values of the dashboards' variables by their names, in PromQL. */
export type Variables = Readonly<Record<string, string>>;

/** The variables as Grafana sets them when `All` is selected in each: it asks Prometheus which values there are. */
export async function allSelected(prometheus: PrometheusServer): Promise<Variables> {
  const values: Record<string, string> = { __rate_interval: '10s' };
  for (const { name, label, among, all } of labelVariables(boards.flatMap(queriesOf)))
    values[name] = all ?? anyOf(await prometheus.labelValues(label, filled(among, values)));
  return values;
}

/** `expr` with `values` in place of its variables. */
export const filled = (expr: string, values: Variables): string =>
  expr.replace(/\$(\w+)/g, (_, name: string) => {
    const value = values[name];
    if (value === undefined) throw new Error(`${expr}: no variable ${name}`);
    return value;
  });

const anyOf = (values: readonly string[]): string =>
  `(${values.map(value => value.replace(/[.*+?^${}()|[\]\\]/g, '\\\\$&')).join('|')})`;
