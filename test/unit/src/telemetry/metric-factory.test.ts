import { setImmediate } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import * as prometheus from 'prom-client';
import { MetricFactory, pluginMetrics } from '../../../../src/telemetry/metric-factory.ts';

const { Registry } = prometheus;
const buckets = [0.1, 0.5, 1, 2, 5];
const definition = { name: 'test_metric', help: 'Of a test.', labels: ['model', 'status'] } as const;
const labelled = fc.record({ model: fc.constantFrom('a', 'b'), status: fc.constantFrom(200, 502) });
/** Of each bucket, each bound, and beyond them. */
const values = fc.oneof(fc.constantFrom(...buckets), fc.double({ min: 0, max: 6, noNaN: true }));

let registry: prometheus.Registry;
let metrics: MetricFactory;
beforeEach(() => {
  registry = new Registry();
  metrics = new MetricFactory(registry);
});
const lines = async () => (await registry.metrics()).split('\n').filter(line => /^\w/.test(line));

describe('a scrape', () => {
  it('shows a histogram as prom-client does after the same observations', async () => {
    const observations = fc.array(fc.tuple(values, labelled), { minLength: 1, maxLength: 30 });
    await fc.assert(
      fc.asyncProperty(observations, async observed => {
        const [own, theirs] = [new Registry(), new Registry()];
        const histogram = new MetricFactory(own).histogram({ ...definition, buckets });
        const { name, help, labels: labelNames } = definition;
        const reference = new prometheus.Histogram({ name, help, labelNames, buckets, registers: [theirs] });
        for (const [value, { model, status }] of observed) {
          histogram.labels(model, status).observe(value);
          reference.observe({ model, status }, value);
        }
        expect(await own.metrics()).toBe(await theirs.metrics());
      }),
      { numRuns: 30 },
    );
  });

  it.each(['counter', 'gauge'] as const)(
    'shows a %s as prom-client does after the same increases',
    async kind => {
      const counts = fc.array(fc.tuple(fc.nat(9), labelled), { minLength: 1, maxLength: 30 });
      await fc.assert(
        fc.asyncProperty(counts, async counted => {
          const [own, theirs] = [new Registry(), new Registry()];
          const metric = new MetricFactory(own)[kind](definition);
          const { name, help, labels: labelNames } = definition;
          const theirKind = kind === 'counter' ? prometheus.Counter : prometheus.Gauge;
          const reference = new theirKind({ name, help, labelNames, registers: [theirs] });
          for (const [amount, { model, status }] of counted) {
            metric.labels(model, status).inc(amount);
            reference.inc({ model, status }, amount);
          }
          expect(await own.metrics()).toBe(await theirs.metrics());
        }),
        { numRuns: 30 },
      );
    },
  );

  it('shows a metric without labels from the start', async () => {
    const hits = metrics.counter({ name: 'hits_total', help: 'Hits.' });
    metrics.histogram({ name: 'waits', help: 'Waits.', buckets: [1] });
    expect((await lines())[0]).toBe('hits_total 0');
    hits.labels().inc();
    expect(await lines()).toEqual([
      'hits_total 1',
      'waits_bucket{le="1"} 0',
      'waits_bucket{le="+Inf"} 0',
      'waits_sum 0',
      'waits_count 0',
    ]);
  });

  it('shows the sum per series of its readers, until they are removed', async () => {
    const gauge = metrics.gauge({ name: 'queued', help: 'Queued.', labels: ['provider'] });
    const ends = [gauge.read(() => 2, 'a'), gauge.read(async () => 3, 'a')];
    gauge.read(() => 5, 'b');
    expect(await lines()).toEqual(['queued{provider="a"} 5', 'queued{provider="b"} 5']);
    for (const end of ends) end();
    expect(await lines()).toEqual(['queued{provider="b"} 5']);
  });
});

describe('a counter', () => {
  it('starts from zero when its registry is reset, also for series that are held', async () => {
    const hits = metrics.counter({ name: 'hits_total', help: 'Hits.', labels: ['result'] });
    const held = hits.labels('hit');
    held.inc(7);
    registry.resetMetrics();
    expect(await lines()).toEqual(['hits_total{result="hit"} 0']);
    held.inc();
    hits.labels('hit').inc();
    expect(await lines()).toEqual(['hits_total{result="hit"} 2']);
  });

  it('rejects a decrease', () => {
    const hits = metrics.counter({ name: 'hits_total', help: 'Hits.' }).labels();
    expect(() => hits.inc(-1)).toThrow(RangeError);
    expect(() => hits.inc(Number.NaN)).toThrow(RangeError);
  });

  it('treats a number and its text as the same label', async () => {
    const hits = metrics.counter(definition);
    hits.labels('a', 200).inc();
    hits.labels('a', '200').inc();
    expect(await lines()).toEqual(['test_metric{model="a",status="200"} 2']);
  });

  it('keeps label values apart that look the same when joined', async () => {
    const hits = metrics.counter(definition);
    hits.labels('a","b', 'c').inc();
    hits.labels('a', 'b","c').inc();
    expect(await lines()).toHaveLength(2);
  });
});

describe('a gauge', () => {
  it('rises, falls and is set', async () => {
    const gauge = metrics.gauge({ name: 'open', help: 'Open.' }).labels();
    gauge.set(5);
    gauge.inc();
    gauge.dec(2);
    expect(await lines()).toEqual(['open 4']);
    registry.resetMetrics();
    expect(await lines()).toEqual(['open 0']);
  });

  it('shows what it collects at this scrape, and nothing of the scrape before', async () => {
    const gauge = metrics.gauge({ name: 'fullest', help: 'Fullest.', labels: ['queue', 'place'] });
    let fullest = ['a', 'b'];
    const end = gauge.collect(() => fullest.map(queue => ({ labels: { place: 'disk', queue }, value: 2 })));
    expect(await lines()).toEqual(['fullest{queue="a",place="disk"} 2', 'fullest{queue="b",place="disk"} 2']);
    fullest = ['c'];
    expect(await lines()).toEqual(['fullest{queue="c",place="disk"} 2']);
    end();
    expect(await lines()).toEqual([]);
  });

  it('collects at most max_series, and the greatest of several values for the same labels', async () => {
    const gauge = metrics.gauge({ name: 'fullest', help: 'Fullest.', labels: ['queue'], max_series: 2 });
    const values = (...values: number[]) => values.map((value, at) => ({ labels: { queue: at }, value }));
    gauge.collect(() => values(1, 5, 9));
    gauge.collect(() => values(3, 4, 9));
    expect(await lines()).toEqual(['fullest{queue="0"} 3', 'fullest{queue="1"} 5']);
  });

  it('shows 0 without labels while nothing is collected', async () => {
    const values = [{ labels: {}, value: 7 }];
    metrics.gauge({ name: 'oldest', help: 'Oldest.' }).collect(() => values);
    expect(await lines()).toEqual(['oldest 7']);
    values.pop();
    expect(await lines()).toEqual(['oldest 0']);
  });

  it('rejects what is no number', () => {
    const [gauge, text] = [metrics.gauge({ name: 'open', help: 'Open.' }), '5' as unknown as number];
    expect(() => gauge.labels().set(text)).toThrow('the value of a metric must be a number, not string');
    expect(() => gauge.labels().inc(text)).toThrow('must be a number');
    const hits = metrics.counter({ name: 'hits', help: 'Hits.' }).labels();
    expect(() => hits.inc(text)).toThrow('must be a number');
  });
});

describe('a fault at a scrape', () => {
  const warnings: string[] = [];
  const keep = ({ message }: Error) => {
    if (message.startsWith('the metric')) warnings.push(message);
  };
  beforeEach(() => void process.on('warning', keep));
  afterEach(() => void process.off('warning', keep));

  function* endless() {
    for (let queue = 0; ; queue++) yield { labels: { queue }, value: 1 };
  }
  const failing = (): never => {
    throw new Error('no queue');
  };
  const one = (labels: object, value: unknown) => () => [{ labels, value }] as never;

  it.each<[string, string, () => never]>([
    ['throws', 'no queue', failing],
    ['lacks a label', "the value of the label 'queue' must be text", one({}, 1)],
    ['has no number', 'must be a number, not string', one({ queue: 'a' }, '1\nup 0')],
    ['returns nothing', 'not iterable', () => undefined as never],
    ['never ends', 'more than 100000 values', endless as never],
  ])('shows the other metrics when a collector %s, and warns once', async (_, why, collect) => {
    warnings.length = 0;
    metrics.counter({ name: 'hits', help: 'Hits.' }).inc();
    metrics.gauge({ name: 'fullest', help: 'Fullest.', labels: ['queue'], max_series: 2 }).collect(collect);
    expect((await lines()).filter(line => !line.startsWith('fullest'))).toEqual(['hits 1']);
    await lines();
    await setImmediate();
    expect(warnings).toEqual([expect.stringContaining('the metric fullest could not be read at a scrape')]);
    expect(warnings[0]).toContain(why);
  });

  it.each<[string, () => number | Promise<number>]>([
    ['rejects', async () => failing()],
    ['never answers', () => new Promise<number>(() => {})],
  ])('shows the other metrics when the reader of a series %s', async (_, read) => {
    metrics.counter({ name: 'hits', help: 'Hits.' }).inc();
    metrics.gauge({ name: 'waiting', help: 'Waiting.' }).read(read);
    expect(await lines()).toEqual(['hits 1']);
  });
});

describe('the limit of series', () => {
  it('counts new series above it as one, and known series as before', async () => {
    const hits = metrics.counter({ ...definition, max_series: 2 });
    for (let at = 0; at < 5; at++) hits.labels(`model-${at}`, 200).inc();
    hits.labels('model-0', 200).inc();
    expect(await lines()).toEqual([
      'test_metric{model="model-0",status="200"} 2',
      'test_metric{model="model-1",status="200"} 1',
      'test_metric{model="_other",status="_other"} 3',
    ]);
  });
});

describe('a metric factory', () => {
  it('prefixes metrics with the name of the plugin, or with its declared prefix', async () => {
    pluginMetrics(registry, 'my-cache').counter({ name: 'hits_total', help: 'Hits.' });
    pluginMetrics(registry, 'my-cache', 'acme_').counter({ name: 'hits_total', help: 'Hits.' });
    expect(await lines()).toEqual(['sluice_my_cache_hits_total 0', 'acme_hits_total 0']);
  });

  it('returns the existing metric when it is declared again on the same registry', async () => {
    metrics.counter(definition).labels('a', 200).inc();
    new MetricFactory(registry).counter(definition).labels('a', 200).inc();
    expect(await lines()).toEqual(['test_metric{model="a",status="200"} 2']);
  });

  it.each([
    ['another kind', () => metrics.gauge(definition)],
    ['other labels', () => metrics.histogram({ ...definition, buckets, labels: ['model'] })],
    ['other buckets', () => metrics.histogram({ ...definition, buckets: [1, 3] })],
  ])('rejects a name that is taken by a metric of %s', (_, declare) => {
    metrics.histogram({ ...definition, buckets });
    expect(declare).toThrow('metric test_metric: is declared already');
  });

  it('rejects a name that the gateway, another plugin or the application has', () => {
    metrics.counter({ name: 'sluice_requests_total', help: 'Requests.' });
    pluginMetrics(registry, 'other', 'shared_').counter({ name: 'hits', help: 'Hits.' });
    new prometheus.Counter({ name: 'shared_own', help: 'Own.', registers: [registry] });
    for (const [taken, why, plugin, prefix, name] of [
      ['sluice_requests_total', 'the gateway', 'requests', undefined, 'total'],
      ['shared_hits', 'the plugin other', 'mine', 'shared_', 'hits'],
      ['shared_own', 'the application', 'mine', 'shared_', 'own'],
    ] as const) {
      const declared = pluginMetrics(registry, plugin, prefix);
      expect(() => declared.counter({ name, help: 'Hits.' })).toThrow(
        `metric ${taken}: ${why} has one of this name`,
      );
    }
  });

  const hits = { name: 'hits', help: 'Hits.' };
  const unknown = 'labelNames: unknown name; accepted here: name, help, labels';
  it.each<[string, string, 'counter' | 'histogram', object, string]>([
    ['a name', 'none of Prometheus', 'counter', { ...hits, name: 'my-hits' }, "'my-hits' is not a valid"],
    ['a label', 'none of Prometheus', 'counter', { ...hits, labels: ['a b'] }, "'a b' is not a valid name"],
    ['a label', 'reserved', 'counter', { ...hits, labels: ['le'] }, "'le' is a label that Prometheus"],
    ['buckets', 'not ascending', 'histogram', { ...hits, buckets: [2, 1] }, 'do not ascend'],
    ['buckets', 'missing', 'histogram', hits, 'buckets: must be upper bounds, such as [0.1, 1'],
    ['a member', 'unknown', 'counter', { ...hits, labelNames: ['day'] }, unknown],
  ])('rejects %s that is or are %s', (_what, _how, kind, declared, message) => {
    expect(() => metrics[kind](declared as never)).toThrow(message);
  });

  it('takes labels by name as well, as prom-client does', async () => {
    const hits = metrics.counter(definition);
    hits.labels({ status: 200, model: 'a' }).inc();
    hits.inc({ model: 'a', status: '200' });
    hits.inc({ model: 'a', status: 200 }, 3);
    const gauge = metrics.gauge({ name: 'open', help: 'Open.' });
    gauge.set(5);
    gauge.dec();
    metrics
      .histogram({ name: 'waits', help: 'Waits.', labels: ['day'], buckets: [1] })
      .observe({ day: 1 }, 2);
    expect(await lines()).toEqual([
      'test_metric{model="a",status="200"} 5',
      'open 4',
      'waits_bucket{le="1",day="1"} 0',
      'waits_bucket{le="+Inf",day="1"} 1',
      'waits_sum{day="1"} 2',
      'waits_count{day="1"} 1',
    ]);
  });

  it('rejects labels that are not declared, have no value, or are neither text nor number', () => {
    const hits = metrics.counter(definition) as unknown as { inc(labels?: unknown): void };
    expect(() => hits.inc({ model: 'a', day: 1 })).toThrow(
      "metric test_metric: there is no label 'day'; declared are: model, status",
    );
    expect(() => hits.inc({ model: 'a' })).toThrow(
      "metric test_metric: the value of the label 'status' must be text or a number, not nothing; declared are: model, status",
    );
    const { labels } = hits as unknown as { labels(...values: string[]): void };
    for (const values of [[], ['a'], ['a', 'b', 'c']])
      expect(() => labels.apply(hits, values)).toThrow(
        `metric test_metric: ${values.length} value${values.length === 1 ? '' : 's'} for 2 labels; declared are: model, status`,
      );
  });

  it('cuts long label values off', async () => {
    const hits = metrics.counter({ name: 'hits', help: 'Hits.', labels: ['word'] });
    hits.labels('x'.repeat(1000)).inc();
    hits.labels('x'.repeat(2000)).inc();
    expect(await lines()).toEqual([`hits{word="${'x'.repeat(256)}"} 2`]);
  });

  it('counts label values as one that are the same in UTF-8', async () => {
    const hits = metrics.counter({ name: 'hits', help: 'Hits.', labels: ['model'] });
    for (const half of ['a\ud800', 'a\udbff', `a\ufffd`]) hits.labels(half).inc();
    expect(await lines()).toEqual(['hits{model="a\ufffd"} 3']);
  });
});
