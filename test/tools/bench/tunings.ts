/** Pieces of code that are tuned by hand; `tunings.ts NAME --config FILE` runs the command without one. */

interface Tuning {
  readonly title: string;
  /** Puts the plain form in place, before the command is loaded. */
  remove(): Promise<void>;
}

/** Each must be worth 5 % of what it is for, or it goes. */
export const tunings: Readonly<Record<string, Tuning>> = {
  framing: {
    title: 'chunks framed in one write (Node frames them)',
    async remove() {
      const { Framing } = await import('../../../src/outbound/framing.ts');
      Framing.of = () => undefined;
    },
  },
  'v8-flags': {
    title: 'V8 flags',
    async remove() {
      const { default: v8 } = await import('node:v8');
      v8.setFlagsFromString = () => {};
      const { syncBuiltinESMExports } = await import('node:module');
      syncBuiltinESMExports();
    },
  },
  'json-search': {
    title: 'a search for quotes and brackets (each byte is looked at)',
    async remove() {
      const { JsonMarks } = await import('../../../src/upstream/passthrough/json-marks.ts');
      const marks = new Set(Buffer.from('"{}[]'));
      JsonMarks.prototype.next = function (this: { readonly part: Buffer }, from: number) {
        const { part } = this;
        let at = from;
        while (at < part.length && !marks.has(part[at]!)) at++;
        return at;
      };
    },
  },
  'metric-series': {
    title: 'series held by their labels (prom-client finds them)',
    async remove() {
      const { Counter, Histogram, Registry } = await import('prom-client');
      const { MetricFactory } = await import('../../../src/telemetry/metric-factory.ts');
      const registers = [new Registry()];
      let number = 0;
      type Definition = { help: string; labels?: readonly string[]; buckets?: readonly number[] };
      const metricOf = ({ help, labels = [] }: Definition) => ({
        name: `untuned_${number++}`,
        help,
        labelNames: [...labels],
        registers,
      });
      Object.assign(MetricFactory.prototype, {
        counter(definition: Definition) {
          const counter = new Counter(metricOf(definition));
          const labels = (...values: unknown[]) => counter.labels(...values.map(String));
          return { labels, read: () => () => {} };
        },
        histogram(definition: Definition) {
          const histogram = new Histogram({ ...metricOf(definition), buckets: [...definition.buckets!] });
          const labels = (...values: unknown[]) => {
            const series = histogram.labels(...values.map(String));
            const observe = (value: number, _: unknown, times = 1) => {
              for (let time = 0; time < times; time++) series.observe(value);
            };
            return { observe };
          };
          return { labels };
        },
      });
    },
  },
};

if (import.meta.main) {
  const [name = ''] = process.argv.splice(2, 1);
  await tunings[name]!.remove();
  await import('../../../src/cli/sidecar.ts');
}
