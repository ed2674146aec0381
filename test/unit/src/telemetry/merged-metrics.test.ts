import { expect, it } from '@jest/globals';
import { isCounted, type MetricSnapshot, mergedMetrics } from '../../../../src/telemetry/merged-metrics.ts';

const sample = (value: number, more: object = {}) => ({ labels: { a: '1' }, value, ...more });
const of = (worker: string, type: string, values: MetricSnapshot['values'], more: object = {}) => ({
  worker,
  metrics: [{ name: 'm', help: 'h', type, values, ...more }],
});
const exemplar = (timestamp: number) => ({ labelSet: { trace_id: `${timestamp}` }, value: 1, timestamp });

it.each([
  [undefined, 5],
  ['sum', 5],
  ['max', 3],
  ['min', 2],
])('makes one value of those of all processes, aggregated as %s', (aggregator, value) => {
  const all = [3, 2].map((one, at) =>
    of(`${at}`, 'gauge', [sample(one)], aggregator ? { aggregator } : undefined),
  );
  expect(mergedMetrics(all)[0]!.values).toMatchObject([{ value }]);
});

it.each([
  [2, 9],
  [9, 2],
])('keeps the newest exemplar of %d and %d, and the only one of a process without', (first, second) => {
  const all = [exemplar(first), exemplar(second)].map(one =>
    of('1', 'histogram', [sample(1, { exemplar: one })]),
  );
  expect(mergedMetrics(all)[0]!.values).toMatchObject([{ value: 2, exemplar: exemplar(9) }]);
  const [only] = mergedMetrics([all[0]!, of('2', 'histogram', [sample(1)])]);
  expect(only!.values[0]!.exemplar).toEqual(exemplar(first));
});

it('keeps the parts of a histogram with the same labels apart', () => {
  const parts = ['m_sum', 'm_count'].map((metricName, at) => sample(at + 1, { metricName }));
  const [merged] = mergedMetrics([of('1', 'histogram', parts), of('2', 'histogram', parts)]);
  expect(merged!.values.map(({ metricName, value }) => [metricName, value])).toEqual([
    ['m_sum', 2],
    ['m_count', 4],
  ]);
});

it.each([
  ['sluice_requests_total', 'counter', true],
  ['sluice_duration_seconds', 'histogram', true],
  ['sluice_in_flight', 'gauge', false],
  ['process_cpu_seconds_total', 'counter', false],
  ['nodejs_gc_duration_seconds', 'histogram', false],
])('outlives its process only if it counts what is not its own: %s', (name, type, expected) => {
  expect(isCounted({ name, type, help: '', values: [] })).toBe(expected);
});
