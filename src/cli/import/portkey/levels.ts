import type { ImportedUpstream } from '../catalog-entry.ts';
import type { Fields } from '../fields.ts';
import { attempts, mergedUpstreams } from '../upstream-list.ts';
import { configNode, modeOf, nodeRules, partRules, targetsOf } from './config-node.ts';
import { type TargetContext, upstreamOf } from './target.ts';

/** Upstreams that share requests by their weights. */
export type Level = readonly ImportedUpstream[];

/** The upstreams of a config or target: each level is asked when those before it have failed. */
export function levelsOf(node: Fields, given: TargetContext): readonly Level[] {
  const { findings } = given;
  node.follow(nodeRules);
  for (const [name, rules] of Object.entries(partRules))
    if (typeof node.value(name) === 'object')
      configNode(node.value(name), [...node.path, name], findings).follow(rules);
  const context = { ...given, request_timeout_ms: node.count('request_timeout') ?? given.request_timeout_ms };
  const targets = targetsOf(node, findings);
  const mode = modeOf(node);
  if (targets.length === 0) {
    const upstream = upstreamOf(node, context);
    return upstream ? [[upstream]] : [];
  }
  if (mode === 'loadbalance') return shared(targets, context);
  if (mode === 'fallback') return targets.flatMap(target => levelsOf(target, context));
  if (mode !== 'single')
    findings.lost(
      [...node.path, 'strategy', 'mode'],
      'is not known below another config: its first target counts',
    );
  return levelsOf(targets[0]!, context);
}

/** The first levels of all targets together, with their weights, then their second ones. */
function shared(targets: readonly Fields[], context: TargetContext): readonly Level[] {
  const all = targets.flatMap(target => {
    const weight = target.number('weight') ?? 1;
    return weight === 0 ? [] : [levelsOf(target, context).map(level => weighted(level, weight))];
  });
  const depth = Math.max(0, ...all.map(({ length }) => length));
  return Array.from({ length: depth }, (_, at) => mergedUpstreams(all.flatMap(levels => levels[at] ?? [])));
}

/** A level whose weights sum up to `weight`. */
function weighted(level: Level, weight: number): Level {
  const sum = level.reduce((total, upstream) => total + (upstream.weight ?? 1), 0);
  return level.map(upstream => ({
    ...upstream,
    weight: Number((((upstream.weight ?? 1) / sum) * weight).toFixed(6)) || 0.000001,
  }));
}

/** The attempts of a config and of all its targets; undefined where none says it. */
export function retriesIn(node: Fields, context: TargetContext): number | undefined {
  const retry = node.value('retry') === undefined ? undefined : node.fields('retry');
  const own = retry?.count('attempts') ?? retry?.count('count');
  const below = targetsOf(node, context.findings).map(target => retriesIn(target, context));
  const all = [own, ...below].filter(count => count !== undefined);
  return all.length === 0 ? undefined : attempts(Math.max(...all));
}
