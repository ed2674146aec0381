import {
  DatasourceVariableBuilder,
  QueryVariableBuilder,
  VariableRefresh,
  VariableSort,
} from '@grafana/grafana-foundation-sdk/dashboard';
import { datasource } from './panel.ts';
import { type Expr, of } from './promql.ts';

/** A variable whose values are those of a label. */
export interface LabelVariable {
  readonly name: string;
  readonly title: string;
  readonly label: string;
  /** The series that have it. */
  readonly among: string;
  /** What `All` stands for; without it, all values that there are. */
  readonly all?: string;
}

// Any exporter has a job and an instance; those of sluice are the ones that export its build. `All` must stand for these and not for `.*`.
const processes: readonly LabelVariable[] = [
  { name: 'job', title: 'Job', label: 'job', among: 'sluice_build_info' },
  {
    name: 'instance',
    title: 'Instance',
    label: 'instance',
    among: 'sluice_build_info{job=~"$job"}',
  },
];

const filters: readonly LabelVariable[] = [
  {
    name: 'model',
    title: 'Model',
    label: 'gen_ai_request_model',
    among: of('sluice_requests_total'),
    all: '.*',
  },
  {
    name: 'provider',
    title: 'Provider',
    label: 'sluice_provider',
    among: of('sluice_provider_in_flight'),
    all: '.*',
  },
];

/** The variables of a dashboard with these queries: its processes, and of the filters those that change what is seen. */
export const labelVariables = (queries: readonly Expr[]): readonly LabelVariable[] => [
  ...processes,
  ...filters.filter(({ name }) => queries.some(expr => expr.includes(`$${name}`))),
];

export const prometheusVariable = (): DatasourceVariableBuilder =>
  new DatasourceVariableBuilder('datasource').label('Prometheus').type('prometheus');

/** Grafana's variable of `variable`. */
export function labelVariable({ name, title, label, among, all }: LabelVariable): QueryVariableBuilder {
  const builder = new QueryVariableBuilder(name)
    .label(title)
    .datasource(datasource)
    .query({ query: `label_values(${among}, ${label})`, refId: name })
    .multi(true)
    .includeAll(true)
    .current({ text: 'All', value: '$__all' })
    .refresh(VariableRefresh.OnTimeRangeChanged)
    .sort(VariableSort.AlphabeticalAsc);
  return all === undefined ? builder : builder.allValue(all);
}
