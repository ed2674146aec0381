import { describe, expect, it } from '@jest/globals';
import { HistogramSeries } from '../../../../src/telemetry/metric-series.ts';

describe('a series of a histogram', () => {
  it('counts a value several times at once', () => {
    const series = new HistogramSeries([1, 2]);
    series.observe(2, undefined, 3);
    expect([[...series.counts], series.sum]).toEqual([[0, 3, 0], 6]);
  });

  it('keeps the last trace of each bucket, and none of an observation without a trace', () => {
    const series = new HistogramSeries([1, 2]);
    series.observe(0.5);
    expect(series.exemplars).toBeUndefined();
    for (const [value, trace_id] of [
      [0.5, 'first'],
      [0.7, 'second'],
      [9, 'third'],
    ] as const)
      series.observe(value, trace_id);
    series.observe(0.6);
    expect(series.exemplars).toMatchObject({
      0: { trace_id: 'second', value: 0.7 },
      2: { trace_id: 'third', value: 9 },
    });
    expect(series.exemplars![1]).toBeUndefined();
  });

  it('forgets counts and traces when it is reset', () => {
    const series = new HistogramSeries([1]);
    series.observe(0.5, 'first');
    series.reset();
    expect([[...series.counts], series.sum, series.exemplars]).toEqual([[0, 0], 0, undefined]);
  });
});
