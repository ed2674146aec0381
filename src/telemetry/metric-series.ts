/** One line of a scrape, in prom-client's form. */
export interface Sample {
  readonly labels: Readonly<Record<string, string | number>>;
  readonly value: number;
  readonly metricName?: string;
  readonly exemplar?: ShownExemplar | undefined;
}

/** The same of an exemplar. */
interface ShownExemplar {
  readonly labelSet: Readonly<Record<string, string>>;
  readonly value: number;
  /** Seconds since 1970. */
  readonly timestamp: string | number;
}

type Labels = Sample['labels'];

/** `value`; throws unless it is a number. Anything else in one line of a scrape would make Prometheus refuse all of it. */
export function numberOf(value: number): number {
  if (typeof value !== 'number') throw notNumber(value);
  return value;
}

const notNumber = (value: unknown): Error =>
  new TypeError(`the value of a metric must be a number, not ${typeof value}`);

class NumberSeries {
  value = 0;

  reset(): void {
    this.value = 0;
  }

  samples(labels: Labels): Sample[] {
    return [{ labels, value: this.value }];
  }
}

/** One series of a counter. */
export class CounterSeries extends NumberSeries {
  /** Throws for a negative amount. */
  inc(amount = 1): void {
    if (typeof amount !== 'number') throw notNumber(amount);
    if (!(amount >= 0)) throw new RangeError(`a counter cannot be increased by ${amount}`);
    this.value += amount;
  }
}

/** One series of a gauge. Throws for what is no number. */
export class GaugeSeries extends NumberSeries {
  set(value: number): void {
    this.value = numberOf(value);
  }

  inc(amount = 1): void {
    if (typeof amount !== 'number') throw notNumber(amount);
    this.value += amount;
  }

  dec(amount = 1): void {
    if (typeof amount !== 'number') throw notNumber(amount);
    this.value -= amount;
  }
}

/** The last traced observation of a bucket. */
interface Exemplar {
  readonly trace_id: string;
  readonly value: number;
  readonly epoch_s: number;
}

/** One series of a histogram with these upper bounds, ascending. */
export class HistogramSeries {
  readonly bounds: readonly number[];
  /** By bucket, the last one for what is above all bounds; not cumulative. */
  readonly counts: Float64Array;
  /** By bucket; made with the first of them. */
  exemplars: (Exemplar | undefined)[] | undefined;
  sum = 0;

  constructor(bounds: readonly number[]) {
    this.bounds = bounds;
    this.counts = new Float64Array(bounds.length + 1);
  }

  /**
   * Counts `value`, `times` over. NaN is not counted, or the sum would stay NaN; throws for what is no number. `trace_id`, of a trace that is
   * recorded, becomes the exemplar of the bucket.
   */
  observe(value: number, trace_id?: string, times = 1): void {
    if (typeof value !== 'number') throw notNumber(value);
    if (Number.isNaN(value)) return;
    let low = 0;
    let high = this.bounds.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (value <= this.bounds[middle]!) high = middle;
      else low = middle + 1;
    }
    this.counts[low]! += times;
    this.sum += value * times;
    if (trace_id !== undefined) {
      this.exemplars ??= [];
      this.exemplars[low] = { trace_id, value, epoch_s: Date.now() / 1000 };
    }
  }

  reset(): void {
    this.counts.fill(0);
    this.sum = 0;
    this.exemplars = undefined;
  }

  samples(labels: Labels, name: string): Sample[] {
    let count = 0;
    const buckets = [...this.counts].map((inBucket, at) => {
      count += inBucket;
      return {
        labels: { le: this.bounds[at] ?? '+Inf', ...labels },
        value: count,
        metricName: `${name}_bucket`,
        exemplar: exemplarOf(this.exemplars?.[at]),
      };
    });
    return [
      ...buckets,
      { labels, value: this.sum, metricName: `${name}_sum` },
      { labels, value: count, metricName: `${name}_count` },
    ];
  }
}

const exemplarOf = (last: Exemplar | undefined) =>
  last && { labelSet: { trace_id: last.trace_id }, value: last.value, timestamp: last.epoch_s.toFixed(3) };
