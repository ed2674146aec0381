import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { Counter, Histogram, Registry } from 'prom-client';
import { HistogramSeries, SeriesCounter, SeriesHistogram } from '../../../../src/telemetry/series.ts';

const bounds = [0.1, 0.5, 1, 2, 5];
const definition = (registry: Registry) => ({
  name: 'test_metric',
  help: 'Of a test.',
  labelNames: ['model', 'status'] as const,
  registers: [registry],
});
const labels = fc.record({ model: fc.constantFrom('a', 'b'), status: fc.constantFrom(200, 502) });
/** Of each bucket, each bound, and beyond them. */
const values = fc.oneof(fc.constantFrom(...bounds), fc.double({ min: 0, max: 6, noNaN: true }));

describe('a histogram', () => {
  it('is scraped as one of prom-client that has seen the same', async () => {
    const observations = fc.array(fc.tuple(values, labels), { minLength: 1, maxLength: 30 });
    await fc.assert(
      fc.asyncProperty(observations, async observed => {
        const [own, theirs] = [new Registry(), new Registry()];
        const series = new SeriesHistogram(definition(own), bounds);
        const histogram = new Histogram({ ...definition(theirs), buckets: bounds });
        for (const [value, { model, status }] of observed) {
          series.series(model, status).observe(value);
          histogram.observe({ model, status }, value);
        }
        expect(await own.metrics()).toBe(await theirs.metrics());
      }),
      { numRuns: 30 },
    );
  });

  it('counts a value that is seen several times so often', () => {
    const series = new HistogramSeries([1, 2]);
    series.observe(2, undefined, 3);
    expect([[...series.counts], series.sum]).toEqual([[0, 3, 0], 6]);
  });

  it('keeps the last trace of each bucket, and none of what was not traced', () => {
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
});

describe('a counter', () => {
  it('is scraped as one of prom-client that has counted the same', async () => {
    const counts = fc.array(fc.tuple(fc.nat(9), labels), { minLength: 1, maxLength: 30 });
    await fc.assert(
      fc.asyncProperty(counts, async counted => {
        const [own, theirs] = [new Registry(), new Registry()];
        const series = new SeriesCounter(definition(own));
        const counter = new Counter(definition(theirs));
        for (const [amount, { model, status }] of counted) {
          series.add(amount, model, status);
          counter.inc({ model, status }, amount);
        }
        expect(await own.metrics()).toBe(await theirs.metrics());
      }),
      { numRuns: 30 },
    );
  });

  it('without labels is there from the beginning', async () => {
    const registry = new Registry();
    new SeriesCounter({ ...definition(registry), labelNames: [] });
    expect(await registry.metrics()).toContain('test_metric 0');
  });

  it('takes a number and its text for the same label', async () => {
    const registry = new Registry();
    const counter = new SeriesCounter(definition(registry));
    counter.add(1, 'a', 200);
    counter.add(1, 'a', '200');
    expect((await counter.get()).values).toMatchObject([{ value: 2 }]);
  });
});
