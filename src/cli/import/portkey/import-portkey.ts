import { basename, extname } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { isObject } from '../../../common/json-object.ts';
import { CommandMistake } from '../../command.ts';
import { catalogEntry } from '../catalog-entry.ts';
import type { Fields } from '../fields.ts';
import type { Findings } from '../findings.ts';
import type { Imported } from '../imported.ts';
import { ImportedConfig } from '../imported-config.ts';
import type { ModelDefaults } from '../model-defaults.ts';
import { attempts, withFallbacks } from '../upstream-list.ts';
import { readWritten } from '../written-file.ts';
import { configNode, modelsIn, modeOf, namedTarget, nodeRules, targetsOf } from './config-node.ts';
import { levelsOf, retriesIn } from './levels.ts';
import { ownModel } from './target.ts';

/** A model that clients ask for, and the config that serves it. */
interface Asked {
  readonly name: string;
  readonly node: Fields;
}

/**
 * Reads a config of Portkey, which becomes a model by the name of its file. `names` are models that clients ask for with configs whose
 * targets name none. Throws a CommandMistake for a file that cannot be read, and if no model comes over.
 */
export function importPortkey(file: string, names: readonly string[]): Imported {
  const { value, findings } = readWritten(file);
  if (!isObject(value)) throw new CommandMistake(`${file}: must be a config: an object`);
  const config = new ImportedConfig();
  const node = configNode(value, [], findings);
  for (const asked of modelsOf(node, basename(file, extname(file)), names, findings))
    addModel(asked, node, config, findings);
  if (config.models.length === 0) throw new CommandMistake(`${file}: no model came over\n${findings.text}`);
  addCache(node, config, findings);
  config.stores.records = 'sqlite:./sluice.db';
  findings.check(
    [],
    'clients name a model in place of a config, and send a key that sluice keys create has made',
  );
  return { config, findings: [findings] };
}

/** The models of a config: those that its conditions name, or one by the name of its file, or those that clients ask for. */
function modelsOf(
  node: Fields,
  name: string,
  names: readonly string[],
  findings: Findings,
): readonly Asked[] {
  if (modeOf(node) !== 'conditional') return askedOf(node, name, names, findings);
  const strategy = node.fields('strategy');
  const named = strategy.list('conditions').flatMap((condition, at): readonly Asked[] => {
    const path = [...strategy.path, 'conditions', at];
    const { query, then } = isObject(condition) ? condition : {};
    const [models, target] = [modelsIn(query), namedTarget(node, then, findings)];
    if (models && target) return models.map(model => ({ name: model, node: target }));
    findings.lost(
      path,
      models
        ? 'names no target'
        : 'models are chosen by their names here; a stage of your own can change the model of a request',
    );
    return [];
  });
  const other = namedTarget(node, strategy.value('default'), findings);
  const rest = names.filter(asked => named.every(known => known.name !== asked));
  return [...named, ...(other ? askedOf(other, name, rest, findings) : [])];
}

function askedOf(node: Fields, name: string, names: readonly string[], findings: Findings): readonly Asked[] {
  if (areNamed(node, findings)) return [{ name, node }];
  if (names.length > 0) return names.map(asked => ({ name: asked, node }));
  findings.lost(
    node.path,
    'has targets that name no model: import again with --models A,B for those that clients ask for',
  );
  return [];
}

/** Whether all targets name their models. */
function areNamed(node: Fields, findings: Findings): boolean {
  const targets = targetsOf(node, findings);
  return targets.length === 0
    ? ownModel(node) !== undefined
    : targets.every(target => areNamed(target, findings));
}

function addModel({ name, node }: Asked, root: Fields, config: ImportedConfig, findings: Findings): void {
  root.follow(nodeRules);
  const asked = name.replace(/^@[^/]+\//, '');
  const defaults: ModelDefaults[] = [];
  const context = { config, findings, asked, defaults, request_timeout_ms: root.count('request_timeout') };
  const [first = [], ...others] = levelsOf(node, context).filter(({ length }) => length > 0);
  if (first.length === 0) return;
  const upstreams = withFallbacks(first, others);
  const adapters = upstreams.map(({ provider }) => config.settingsOf(provider)!.adapter);
  const retries = retriesIn(root, context) ?? 0;
  const routing = {
    ...(upstreams.length + retries > 3 && { max_attempts: attempts(upstreams.length + retries) }),
    ...(retries > 0 && { retries_per_upstream: Math.min(5, retries) }),
  };
  if (defaults.some(other => !isDeepStrictEqual(other, defaults[0])))
    findings.lost(node.path, 'has targets with other parameters than the first one, whose defaults count');
  const id = config.idFor(name, adapters[0]!);
  config.add(
    catalogEntry({ id, name, facts: { pricing: {} }, upstreams, adapters, routing, defaults: defaults[0] }),
  );
}

/** Turns the cache of the config into the stage response-cache; that of single targets has no counterpart. */
function addCache(node: Fields, config: ImportedConfig, findings: Findings): void {
  const given = node.value('cache');
  if (given === undefined) return;
  const cache = isObject(given) ? node.fields('cache') : undefined;
  const mode = cache ? cache.value('mode') : given;
  if (mode !== 'simple')
    return findings.lost(
      [...node.path, 'cache'],
      'replies are cached for equal requests, and not for similar ones',
    );
  const ttl_s = cache?.count('max_age');
  config.stages['response-cache'] = ttl_s === undefined ? {} : { ttl_s: Math.min(ttl_s, 2_592_000) };
  findings.check(
    [...node.path, 'cache'],
    'replies of all models are kept, for each account apart; check ttl_s, which is in seconds',
  );
}
