import type { ImportedUpstream, UpstreamLimits } from './catalog-entry.ts';

/** A number of attempts that a configuration can have. */
export const attempts = (count: number): number => Math.min(10, Math.max(1, Math.round(count)));

/** Each provider and model once, with the weights and limits of all. */
export function mergedUpstreams(all: readonly ImportedUpstream[]): ImportedUpstream[] {
  const merged = new Map<string, ImportedUpstream>();
  for (const upstream of all) {
    const key = JSON.stringify([upstream.provider, upstream.model]);
    const known = merged.get(key);
    merged.set(key, known ? together(known, upstream) : upstream);
  }
  return [...merged.values()];
}

const together = (one: ImportedUpstream, other: ImportedUpstream): ImportedUpstream => ({
  ...one,
  weight: (one.weight ?? 1) + (other.weight ?? 1),
  limits: sumOf(one.limits, other.limits),
});

/** Limits that both have, together. */
function sumOf(one: UpstreamLimits = {}, other: UpstreamLimits = {}): UpstreamLimits {
  const names = (Object.keys(one) as (keyof UpstreamLimits)[]).filter(name => other[name] !== undefined);
  return Object.fromEntries(names.map(name => [name, one[name]! + other[name]!]));
}

/** The upstreams of a model, and behind them those of others, each once. */
export function withFallbacks(
  own: readonly ImportedUpstream[],
  others: readonly (readonly ImportedUpstream[])[],
): ImportedUpstream[] {
  const all = [...own];
  for (const group of others) {
    const last = Math.max(...all.map(({ priority = 1 }) => priority));
    const isNew = ({ provider, model }: ImportedUpstream) =>
      !all.some(known => known.provider === provider && known.model === model);
    all.push(
      ...group.filter(isNew).map(upstream => ({ ...upstream, priority: last + (upstream.priority ?? 1) })),
    );
  }
  return all;
}
