/** One series of a counter. */
export class CounterSeries {
  value = 0;

  /** Throws for a negative amount. */
  inc(amount = 1): void {
    if (!(amount >= 0)) throw new RangeError(`a counter cannot be increased by ${amount}`);
    this.value += amount;
  }

  reset(): void {
    this.value = 0;
  }
}

/** One series of a gauge. */
export class GaugeSeries {
  value = 0;

  set(value: number): void {
    this.value = value;
  }

  inc(amount = 1): void {
    this.value += amount;
  }

  dec(amount = 1): void {
    this.value -= amount;
  }

  reset(): void {
    this.value = 0;
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

  /** Counts `value`, `times` over. `trace_id`, of a trace that is recorded, becomes the exemplar of the bucket. */
  observe(value: number, trace_id?: string, times = 1): void {
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
}
