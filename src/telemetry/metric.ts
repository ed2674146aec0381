import { shown } from '../common/field-path.ts';
import type { Json } from '../common/json-object.ts';
import { within } from '../common/within.ts';
import { numberOf, type Sample } from './metric-series.ts';

export interface MetricDefinition<L extends readonly string[] = readonly string[]> {
  /** In snake_case; the prefix is added. */
  readonly name: string;
  /** What it counts, for `/metrics`. */
  readonly help: string;
  /** Names of the labels. `labels()` takes their values in this order. */
  readonly labels?: L;
  /**
   * Series that exist, with 0, before their first observation, so that Prometheus sees the first increase: one array of label values for
   * each, in the order of `labels`, as in `[['passed'], ['refused']]`.
   */
  readonly initial?: readonly LabelValues<L>[];
  /** The most series. Observations of further ones count in one series whose labels are all `_other`. 10,000 by default. */
  readonly max_series?: number;
  /** How values of several processes become one, for `server.workers`. By default `sum`, which a counter or a histogram always has. */
  readonly aggregator?: Aggregator;
}

/** How values of several processes become one: a number in use is a sum, an age the greatest, health the least. */
export type Aggregator = 'sum' | 'max' | 'min';

/** One value for each label name. */
export type LabelValues<L extends readonly string[]> = { readonly [K in keyof L]: string | number };
/** The same by name, in any order. */
export type NamedLabels<L extends readonly string[]> = Readonly<Record<L[number], string | number>>;
type Labels = Readonly<Record<string, string>>;

/** A series of a gauge as it is at one scrape. */
export interface CollectedValue<L extends readonly string[]> {
  /** Values of all labels, by name. */
  readonly labels: NamedLabels<L>;
  /** The value at this scrape, in the unit that the name of the metric says. */
  readonly value: number;
}

/** Common interface of the series of counters, gauges and histograms. */
export interface Series {
  reset(): void;
  samples(labels: Labels, name: string): Sample[];
}

/** Differences between counters, gauges and histograms. */
export interface MetricKind<S> {
  readonly type: 'counter' | 'gauge' | 'histogram';
  /** Buckets of a histogram. */
  readonly shape?: string;
  create(): S;
}

/** A step of the walk: series by their label values, one after the other. Joining a key for every observation costs more. */
interface Branch<S> {
  series?: S;
  readonly next: Map<string | number, Branch<S>>;
}

/** What is read at each scrape for one series. */
interface Reader {
  readonly labels: Labels;
  readonly reads: Set<() => number | Promise<number>>;
}

const default_max_series = 10_000;
/** Longest wait for what is read at a scrape, and most values that are taken of one reader: Prometheus waits ten seconds for all. */
const read_limit_ms = 1000;
const max_collected = 100_000;

/** Longer label values are cut off, since they may come from clients. */
const max_label_characters = 256;

/**
 * A metric for a Registry of prom-client, which shows it as its own. prom-client finds a series for every observation by checking and joining
 * its labels: 0.4 to 0.6 µs each, thirty times a request. Here finding one is a walk over maps, and
 * a series may be held.
 */
export class Metric<L extends readonly string[], S extends Series> {
  /** Full name, with its prefix. */
  readonly name: string;
  /** What it counts, for `/metrics`. */
  readonly help: string;
  /** Its kind. */
  readonly type: MetricKind<S>['type'];
  /** Names of its labels, in the order of `labels()`. */
  readonly labelNames: readonly string[];
  /** The plugin that has declared it; undefined if the gateway has. */
  readonly owner: string | undefined;
  /** Buckets of a histogram. */
  readonly shape: string | undefined;
  readonly #kind: MetricKind<S>;
  readonly #max_series: number;
  readonly #aggregator: Aggregator;
  readonly #root: Branch<S> = { next: new Map() };
  readonly #series = new Map<string, { labels: Labels; series: S }>();
  readonly #readers = new Map<string, Reader>();
  readonly #collectors = new Set<() => Iterable<CollectedValue<L>>>();
  #hasFailed = false;

  constructor(definition: MetricDefinition<L>, kind: MetricKind<S>, owner?: string) {
    const { name, help, labels = [], max_series = default_max_series, aggregator = 'sum' } = definition;
    this.name = name;
    this.help = help;
    this.owner = owner;
    this.type = kind.type;
    this.shape = kind.shape;
    this.labelNames = labels;
    this.#kind = kind;
    this.#max_series = max_series;
    this.#aggregator = aggregator;
    if (labels.length === 0) this.#add([]);
    for (const values of definition.initial ?? []) this.#add(values);
  }

  /**
   * The series of these label values, in the declared order or by name, which may be held: it stays the same after `reset`. Throws unless
   * there is one for each label.
   */
  labels(...values: LabelValues<L> | readonly [NamedLabels<L>]): S {
    let branch: Branch<S> | undefined = this.#root;
    for (let at = 0; at < values.length; at++) {
      branch = branch.next.get((values as LabelValues<L>)[at]!);
      // Names are never in the walk.
      if (!branch) return this.#add(this.#inOrder(values));
    }
    return branch.series ?? this.#add(this.#inOrder(values));
  }

  /** Reads a value with `read` at each scrape, until the returned function is called. Reads of one series are added up. */
  read(read: () => number | Promise<number>, ...values: LabelValues<L>): () => void {
    const [key, labels] = this.#keyOf(values);
    const reader = this.#readers.get(key) ?? { labels, reads: new Set() };
    this.#readers.set(key, reader);
    reader.reads.add(read);
    return () => {
      reader.reads.delete(read);
      if (reader.reads.size === 0) this.#readers.delete(key);
    };
  }

  /**
   * Asks `read` at each scrape for series that are shown in that scrape only, at most `max_series`, until the returned function is called.
   * Of several values for the same labels the greatest is shown.
   */
  protected collected(read: () => Iterable<CollectedValue<L>>): () => void {
    this.#collectors.add(read);
    return () => void this.#collectors.delete(read);
  }

  /** Whether `other` is declared in the same way, so that one can stand for both. */
  isLike(other: Metric<readonly string[], Series>): boolean {
    const declared = ({ type, labelNames, shape, owner }: typeof other) =>
      JSON.stringify([type, labelNames, shape, owner]);
    return declared(this) === declared(other);
  }

  /** Values for a registry that is scraped. What cannot be read is left out: it must not take the other metrics with it. */
  async get() {
    const { name, help, type } = this;
    const collected = this.#collect();
    const values: Sample[] = [...collected.values()];
    for (const [key, { labels, series }] of this.#series)
      if (!this.#readers.has(key) && !collected.has(key)) values.push(...series.samples(labels, name));
    const reads = [...this.#readers.values()].map(reader => this.#read(reader));
    for (const sample of await Promise.all(reads)) if (sample) values.push(sample);
    return { name, help, type, values, aggregator: this.#aggregator };
  }

  async #read({ labels, reads }: Reader): Promise<Sample | undefined> {
    try {
      const late = () => new Error(`not read within ${read_limit_ms} ms`);
      const read = await within(
        Promise.all([...reads].map(async one => numberOf(await one()))),
        read_limit_ms,
        late,
      );
      return { labels, value: read.reduce((sum, value) => sum + value, 0) };
    } catch (thrown) {
      this.#failed(thrown);
      return undefined;
    }
  }

  #collect(): ReadonlyMap<string, Sample> {
    const samples = new Map<string, Sample>();
    for (const read of this.#collectors) {
      try {
        this.#collectInto(samples, read());
      } catch (thrown) {
        this.#failed(thrown);
      }
    }
    return samples;
  }

  #collectInto(samples: Map<string, Sample>, collected: Iterable<CollectedValue<L>>): void {
    let left = max_collected;
    for (const { labels: named, value } of collected) {
      if (left-- === 0) throw new Error(`more than ${max_collected} values were returned`);
      const [key, labels] = this.#keyOf(this.#inOrder([named]));
      const known = samples.get(key);
      if (known ? known.value >= numberOf(value) : samples.size >= this.#max_series) continue;
      samples.set(key, { labels, value: numberOf(value) });
    }
  }

  /** Reports what a read at a scrape threw, the first time. */
  #failed(thrown: unknown): void {
    if (this.#hasFailed) return;
    this.#hasFailed = true;
    const why = thrown instanceof Error ? thrown.message : String(thrown);
    process.emitWarning(`the metric ${this.name} could not be read at a scrape: ${why}`);
  }

  /** Removes all series with this value of this label. One that is held counts on and is not shown. */
  forget(label: string, value: string): void {
    const depth = this.labelNames.indexOf(label);
    if (depth === -1) return;
    const shown = value.slice(0, max_label_characters);
    for (const [key, { labels }] of this.#series) if (labels[label] === shown) this.#series.delete(key);
    let branches = [this.#root];
    for (let level = 0; level < depth; level++) branches = branches.flatMap(({ next }) => [...next.values()]);
    for (const { next } of branches) next.delete(value);
  }

  /** Sets every series to zero. */
  reset(): void {
    for (const { series } of this.#series.values()) series.reset();
  }

  /** Label values in the declared order, which may be given by name. */
  #inOrder(values: readonly unknown[]): readonly (string | number)[] {
    const { labelNames } = this;
    const [named] = values;
    if (typeof named !== 'object' || named === null || values.length > 1)
      return values as readonly (string | number)[];
    const unknown = Object.keys(named).find(label => !labelNames.includes(label));
    if (unknown !== undefined) throw this.#mistake(`there is no label '${unknown}'`);
    return labelNames.map(label => (named as Json)[label] as string);
  }

  #mistake(problem: string): Error {
    return new Error(
      `metric ${this.name}: ${problem}; declared are: ${this.labelNames.join(', ') || '(none)'}`,
    );
  }

  /** Adds the values to the walk; a number and its text are one label. Values beyond the limit are not added and share one series. */
  #add(values: readonly (string | number)[]): S {
    const [key, labels] = this.#keyOf(values);
    if (!this.#series.has(key) && this.#series.size >= this.#max_series)
      return this.#named(...this.#keyOf(this.labelNames.map(() => '_other')));
    // Cut texts are looked up anew each time.
    if (values.some(value => String(value).length > max_label_characters)) return this.#named(key, labels);
    let branch = this.#root;
    for (const value of values) {
      const next: Branch<S> = branch.next.get(value) ?? { next: new Map() };
      branch.next.set(value, next);
      branch = next;
    }
    return (branch.series = this.#named(key, labels));
  }

  #named(key: string, labels: Labels): S {
    const known = this.#series.get(key)?.series;
    if (known) return known;
    const series = this.#kind.create();
    this.#series.set(key, { labels, series });
    return series;
  }

  #keyOf(values: readonly (string | number)[]): readonly [string, Labels] {
    const { labelNames } = this;
    if (values.length !== labelNames.length)
      throw this.#mistake(`${counted(values.length, 'value')} for ${counted(labelNames.length, 'label')}`);
    const wrong = values.findIndex(value => typeof value !== 'string' && typeof value !== 'number');
    if (wrong !== -1)
      throw this.#mistake(
        `the value of the label '${labelNames[wrong]}' must be text or a number, not ${shown(values[wrong])}`,
      );
    // What is no Unicode would look the same in a scrape, and two series with the same labels are an error there.
    const texts = values.map(value => String(value).slice(0, max_label_characters).toWellFormed());
    return [JSON.stringify(texts), Object.fromEntries(labelNames.map((label, at) => [label, texts[at]!]))];
  }
}

const counted = (count: number, what: string): string => `${count} ${what}${count === 1 ? '' : 's'}`;
