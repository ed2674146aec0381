import { AnnotationQueryBuilder } from '@grafana/grafana-foundation-sdk/dashboard';
import { dataquery, datasource } from './panel.ts';
import { type Expr, of, promql, sum } from './promql.ts';

/** An event drawn over every panel. */
export interface Annotation {
  readonly name: string;
  readonly expr: Expr;
  readonly title: string;
  readonly color: string;
  /** The value is the time of the event, in milliseconds; else the event is where the value is above 0. */
  readonly isTime?: boolean;
}

/** What explains a step in the curves: restarts, configurations, and circuit breakers. */
export const annotations: readonly Annotation[] = [
  {
    name: 'Restarts',
    expr: promql`${of('process_start_time_seconds')} * 1000`,
    title: 'started: {{instance}}',
    color: 'purple',
    isTime: true,
  },
  {
    name: 'Configuration',
    expr: promql`${of('sluice_config_loaded_timestamp_seconds')} * 1000`,
    title: 'configuration loaded: {{instance}}',
    color: 'blue',
    isTime: true,
  },
  {
    name: 'Circuit breakers',
    expr: promql`${sum(
      promql`increase(${of('sluice_breaker_transitions_total')}[$__rate_interval])`,
      'instance',
      'sluice_provider',
      'state',
    )} > 0`,
    title: 'circuit breaker {{state}}: {{sluice_provider}} ({{instance}})',
    color: 'red',
  },
];

/** Grafana's annotation; the query stands in it twice, where older and newer versions look for it. */
export const annotated = ({ name, expr, title, color, isTime = false }: Annotation): AnnotationQueryBuilder =>
  new AnnotationQueryBuilder()
    .name(name)
    .datasource(datasource)
    .enable(true)
    .iconColor(color)
    .expr(expr)
    .titleFormat(title)
    .step('30s')
    .useValueForTime(isTime)
    .target(dataquery(expr, 'Annotation').range().interval('30s'));
