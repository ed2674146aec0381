import type { ImportedUpstream } from './catalog-entry.ts';

/** A number of attempts that a configuration can have. */
export const attempts = (count: number): number => Math.min(10, Math.max(1, Math.round(count)));

/** Each provider and model once, with the weights of all. */
export function mergedUpstreams(all: readonly ImportedUpstream[]): ImportedUpstream[] {
  const merged = new Map<string, ImportedUpstream>();
  for (const upstream of all) {
    const key = JSON.stringify([upstream.provider, upstream.model]);
    const known = merged.get(key);
    merged.set(key, known ? { ...known, weight: (known.weight ?? 1) + (upstream.weight ?? 1) } : upstream);
  }
  return [...merged.values()];
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
