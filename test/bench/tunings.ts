/** A piece of code that is tuned by hand, and how a process does without it. */
export interface Tuning {
  readonly title: string;
  /** Puts the plain form in place, before the command is loaded. */
  remove(): Promise<void>;
}

/** Each must be worth 5 % of what it is for, or it goes. */
export const tunings: Readonly<Record<string, Tuning>> = {
  framing: {
    title: 'chunks framed in one write (Node frames them)',
    async remove() {
      const { Framing } = await import('../../src/outbound/framing.ts');
      Framing.of = () => undefined;
    },
  },
  'v8-flags': {
    title: 'V8 flags',
    async remove() {
      const v8 = await import('node:v8');
      v8.default.setFlagsFromString = () => {};
      const { syncBuiltinESMExports } = await import('node:module');
      syncBuiltinESMExports();
    },
  },
  'metric-series': {
    title: 'series held by their labels (prom-client finds them)',
    async remove() {
      const [{ Counter, Histogram, Registry }, { MetricFactory }] = await Promise.all([
        import('prom-client'),
        import('../../src/telemetry/metric-factory.ts'),
      ]);
      const registers = [new Registry()];
      let number = 0;
      type Definition = { help: string; labels?: readonly string[]; buckets?: readonly number[] };
      const of = ({ help, labels = [] }: Definition) => ({
        metric: { name: `untuned_${number++}`, help, labelNames: [...labels], registers },
        named: (values: readonly unknown[]) =>
          Object.fromEntries(labels.map((label, at) => [label, String(values[at])])),
      });
      Object.assign(MetricFactory.prototype, {
        counter(definition: Definition) {
          const { metric, named } = of(definition);
          const counter = new Counter(metric);
          return {
            labels: (...values: unknown[]) => ({ inc: (by = 1) => counter.inc(named(values), by) }),
            read: () => () => {},
          };
        },
        histogram(definition: Definition) {
          const { metric, named } = of(definition);
          const histogram = new Histogram({ ...metric, buckets: [...definition.buckets!] });
          return {
            labels: (...values: unknown[]) => ({
              observe(value: number, _: unknown, times = 1) {
                for (let time = 0; time < times; time++) histogram.observe(named(values), value);
              },
            }),
          };
        },
      });
    },
  },
};
