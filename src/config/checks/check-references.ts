import type { ConfigIssue } from '../../common/config-error.ts';
import { asObject, isObject, type Json, objectsIn, textsIn } from '../../common/json-object.ts';
import { noSuchName } from '../../common/suggestion.ts';
import { namesModel } from '../../gateway/accounts/model-lists.ts';
import type { ProviderDefinition } from '../../gateway/upstream/adapter.ts';
import { hashKey } from '../../records/key-secret.ts';
import { allowedTagsSchema, keyTagsSchema, tagFault } from '../../records/key-tags.ts';

type Path = readonly PropertyKey[];

/**
 * The parts of a configuration that refer to one another. What is wrong in them is read as absent: their own schema reports it, and the
 * names beside it are still checked in the same run.
 */
interface Parts {
  readonly models: readonly Json[];
  /** Undefined where they cannot be read. */
  readonly providers: Json | undefined;
  readonly passthrough: readonly Json[];
  readonly stages: readonly Json[];
  readonly plans: Json;
  readonly tags: unknown;
  /** There may be a million: each reading of a large object takes a second. */
  readonly accounts: readonly (readonly [id: string, account: Json])[];
  /** The names that may be referred to. */
  readonly known: Readonly<Record<'model' | 'plan', readonly string[]>>;
}

/** What a configuration may refer to beside its own names. */
export interface Known {
  /** By the name that the configuration has for them. */
  readonly adapters: readonly Pick<ProviderDefinition, 'name' | 'efforts'>[];
  /** Paths of the gateway's own. */
  readonly paths: readonly string[];
  /** What models can serve; anything where it is not known. */
  readonly operations?: readonly string[];
}

/** Reports what no schema sees, even in a configuration that is wrong elsewhere: references to unknown names, and duplicate names. */
export function checkReferences(config: unknown, known: Known = { adapters: [], paths: [] }): ConfigIssue[] {
  const { models: listed, providers, passthrough, stages, plans: named, accounts, tags } = asObject(config);
  const models = objectsIn(listed);
  const plans = asObject(named);
  const parts: Parts = {
    models,
    providers: isObject(providers) ? providers : undefined,
    passthrough: objectsIn(passthrough),
    stages: objectsIn(stages),
    plans,
    tags,
    accounts: Object.entries(asObject(accounts)).map(([id, account]) => [id, asObject(account)]),
    known: { model: textsIn(models.map(({ id }) => id)), plan: Object.keys(plans) },
  };
  return [
    ...checkModels(parts, known),
    ...checkEfforts(parts, known),
    ...checkPassthrough(parts, known),
    ...checkAccounts(parts),
    ...checkLimits(parts),
    ...checkModelLists(parts),
    ...checkTags(parts),
    ...checkStages(parts),
  ];
}

function* checkModels({ models, providers }: Parts, { operations }: Known): Generator<ConfigIssue> {
  yield* checkTwice(models, 'models', 'id');
  for (const [at, model] of models.entries()) {
    for (const [number, { provider }] of objectsIn(model.upstreams).entries()) {
      const path = ['models', at, 'upstreams', number, 'provider'];
      if (typeof provider === 'string' && providers && !Object.hasOwn(providers, provider))
        yield { path, message: noSuchName('provider', provider, Object.keys(providers)) };
    }
    for (const [number, name] of textsIn(model.operations).entries())
      if (operations && !operations.includes(name))
        yield {
          path: ['models', at, 'operations', number],
          message: noSuchName('operation', name, operations),
        };
    const levels = levelsOf(model);
    for (const level of Object.keys(asObject(model.effort_map)))
      if (levels && !levels.includes(level))
        yield { path: ['models', at, 'effort_map', level], message: 'is not one of reasoning_effort.levels' };
  }
}

function levelsOf({ reasoning_effort }: Json): readonly unknown[] | undefined {
  const { levels } = asObject(reasoning_effort);
  return Array.isArray(levels) ? levels : undefined;
}

/** Reports entries of a list with a name that an earlier one has. */
function* checkTwice(entries: readonly Json[], section: string, name: string): Generator<ConfigIssue> {
  const seen = new Set<string>();
  for (const [at, { [name]: value }] of entries.entries()) {
    if (typeof value !== 'string') continue;
    if (seen.has(value)) yield { path: [section, at, name], message: `${value} is listed twice` };
    seen.add(value);
  }
}

function* checkPassthrough(
  { passthrough, providers, models }: Parts,
  { paths }: Known,
): Generator<ConfigIssue> {
  const known = providers && Object.keys(providers);
  const areNamed = models.some(({ operations }) => textsIn(operations).includes('passthrough'));
  for (const [at, { path, provider }] of passthrough.entries()) {
    if (typeof path === 'string' && paths.some(own => covers(own, path)))
      yield {
        path: ['passthrough', at, 'path'],
        message: `${path} is the gateway's own and cannot be let through`,
      };
    if (provider === undefined && !areNamed)
      yield {
        path: ['passthrough', at],
        message: 'needs a provider: no model of the catalog has passthrough among its operations',
      };
    if (typeof provider === 'string' && known && !known.includes(provider))
      yield { path: ['passthrough', at, 'provider'], message: noSuchName('provider', provider, known) };
  }
  yield* checkTwice(passthrough, 'passthrough', 'path');
}

/** Whether the gateway's path `own`, which may end in a slash and a star, covers `path`. */
const covers = (own: string, path: string): boolean =>
  own === path || (own.endsWith('/*') && path.startsWith(own.slice(0, -1)));

/** Reports effort levels that an upstream's adapter does not support. */
function* checkEfforts({ models, providers = {} }: Parts, { adapters }: Known): Generator<ConfigIssue> {
  for (const [at, model] of models.entries()) {
    const asked = objectsIn(model.upstreams).map(({ provider }) => {
      const { adapter } = asObject(providers[String(provider)]);
      return adapters.find(({ name }) => name === adapter);
    });
    for (const [number, level] of (levelsOf(model) ?? []).entries()) {
      if (typeof level !== 'string' || Object.hasOwn(asObject(model.effort_map), level)) continue;
      const adapter = asked.find(found => found?.efforts && !found.efforts.includes(level));
      const path = ['models', at, 'reasoning_effort', 'levels', number];
      if (adapter)
        yield {
          path,
          message: `the adapter ${adapter.name} has no words for '${level}'; say in effort_map.${level} what is sent`,
        };
    }
  }
}

function* checkAccounts({ accounts, plans, known }: Parts): Generator<ConfigIssue> {
  const owners = new Map<string, string>();
  for (const [id, { plan, keys }] of accounts) {
    if (typeof plan === 'string' && !Object.hasOwn(plans, plan))
      yield { path: ['accounts', id, 'plan'], message: noSuchName('plan', plan, known.plan) };
    for (const [at, key] of objectsIn(keys).entries()) {
      const digest = digestOf(key);
      const owner = owners.get(digest);
      if (owner !== undefined)
        yield {
          path: ['accounts', id, 'keys', at],
          message: `the same key belongs to account '${owner}' already`,
        };
      if (digest !== '') owners.set(digest, id);
    }
  }
}

/** Reports names in lists of models that name none, which would silently allow nothing. */
function* checkModelLists({ accounts, known }: Parts): Generator<ConfigIssue> {
  if (known.model.length === 0) return;
  const check = (models: unknown, ...path: PropertyKey[]): ConfigIssue[] =>
    (Array.isArray(models) ? models : []).flatMap((name, at) =>
      typeof name !== 'string' || known.model.some(id => namesModel([name], id))
        ? []
        : [{ path: [...path, 'models', at], message: noSuchName('model', name, known.model) }],
    );
  for (const [id, { models, keys }] of accounts) {
    yield* check(models, 'accounts', id);
    for (const [at, key] of objectsIn(keys).entries()) yield* check(key.models, 'accounts', id, 'keys', at);
  }
}

/** Reports tags of keys that are not listed. */
function* checkTags({ accounts, tags = {} }: Parts): Generator<ConfigIssue> {
  const allowed = allowedTagsSchema.safeParse(tags);
  if (!allowed.success) return;
  for (const [id, { keys }] of accounts)
    for (const [at, key] of objectsIn(keys).entries()) {
      if (key.tags === undefined) continue;
      const given = keyTagsSchema.safeParse(key.tags);
      const fault = given.success ? tagFault(allowed.data, given.data) : undefined;
      if (fault) yield { path: ['accounts', id, 'keys', at, 'tags', fault.name], message: fault.message };
    }
}

/** The same key may be written in both forms. */
function digestOf({ value, sha256 }: Json): string {
  if (typeof value === 'string') return hashKey(value);
  return typeof sha256 === 'string' ? sha256.toLowerCase() : '';
}

/** Reports limits on unknown models, which would silently limit nothing. */
function* checkLimits({ accounts, plans, stages, known }: Parts): Generator<ConfigIssue> {
  const models = new Set(known.model);
  if (models.size === 0) return;
  const check = (limits: unknown, ...path: PropertyKey[]): ConfigIssue[] =>
    Object.keys(asObject(asObject(limits).models))
      .filter(model => !models.has(model))
      .map(model => ({ path: [...path, 'models', model], message: noSuchName('model', model, known.model) }));
  for (const [name, plan] of Object.entries(plans)) yield* check(plan, 'plans', name);
  for (const [id, { limits }] of accounts) yield* check(limits, 'accounts', id, 'limits');
  for (const [at, stage] of stages.entries())
    yield* check(asObject(stage['rate-limit']).limits, 'stages', at, 'rate-limit', 'limits');
}

/** Reports models and plans in the options of built-in stages that do not exist, and so would never match. */
function* checkStages({ stages, known }: Parts): Generator<ConfigIssue> {
  const unknown = (kind: 'model' | 'plan', name: string, path: Path): ConfigIssue[] =>
    known[kind].includes(name) ? [] : [{ path, message: noSuchName(kind, name, known[kind]) }];
  for (const [at, stage] of stages.entries()) {
    const below = ['stages', at, 'stream-rechunk', 'classes'];
    const classes = objectsIn(asObject(stage['stream-rechunk']).classes);
    for (const [number, { when }] of classes.entries())
      for (const kind of ['model', 'plan'] as const)
        for (const name of textsIn([asObject(when)[kind]].flat()))
          yield* unknown(kind, name, [...below, number, 'when', kind]);
    // Accounts are not checked: they may be in the records store.
    const { plans, accounts, others } = asObject(stage['model-access']);
    const access = ['stages', at, 'model-access'];
    for (const plan of Object.keys(asObject(plans))) yield* unknown('plan', plan, [...access, 'plans', plan]);
    for (const [place, models] of [
      [['others'], others] as const,
      ...Object.entries({ plans, accounts }).flatMap(([section, byName]) =>
        Object.entries(asObject(byName)).map(([name, models]) => [[section, name], models] as const),
      ),
    ])
      for (const [number, model] of (Array.isArray(models) ? models : []).entries())
        if (typeof model === 'string' && model !== '*')
          yield* unknown('model', model, [...access, ...place, number]);
  }
}
