import type { Registry } from 'prom-client';
import { Metric } from './metric.ts';

/** A label and one of its values, such as `sluice_provider` and the name of a provider. */
export type UsedLabel = readonly [label: string, value: string];

/** How many configurations use each value, by registry: gateways of one process may share one, and the names in it. */
const usesByRegistry = new WeakMap<Registry, Map<string, number>>();

/** The label values of one configuration. While any configuration uses a value, its series stay. */
export class UsedLabels {
  readonly #registry: Registry;
  readonly #labels: readonly UsedLabel[];
  readonly #uses: Map<string, number>;

  constructor(registry: Registry, labels: readonly UsedLabel[]) {
    this.#registry = registry;
    this.#labels = labels;
    this.#uses = usesByRegistry.get(registry) ?? new Map();
    usesByRegistry.set(registry, this.#uses);
    for (const label of labels) this.#count(label, 1);
  }

  /** Ends the use, and keeps the series: they are shown after the gateway has closed. */
  release(): void {
    for (const label of this.#labels) this.#count(label, -1);
  }

  /** Ends the use, and removes the gateway's series with values that are no longer used. Returns those. */
  forget(): readonly UsedLabel[] {
    const gone = this.#labels.filter(label => this.#count(label, -1) === 0);
    const metrics: unknown[] = this.#registry.getMetricsAsArray();
    for (const metric of metrics)
      if (metric instanceof Metric && metric.owner === undefined)
        for (const [label, value] of gone) metric.forget(label, value);
    return gone;
  }

  #count([label, value]: UsedLabel, change: 1 | -1): number {
    const key = `${label} ${value}`;
    const uses = (this.#uses.get(key) ?? 0) + change;
    if (uses === 0) this.#uses.delete(key);
    else this.#uses.set(key, uses);
    return uses;
  }
}
