import { z } from 'zod';
import type { ConfigIssue } from '../../common/config-error.ts';
import { noSuchName } from '../../common/suggestion.ts';
import { hashKey } from '../../gateway/accounts/hash-key.ts';
import type { ProviderDefinition } from '../../gateway/upstream/adapter.ts';
import { checkStageReferences } from './check-stage-references.ts';

/**
 * The parts of a configuration that refer to one another. Invalid parts are read as absent: their own schema reports them, and the names
 * beside them are still checked in the same run.
 */
const maybe = <T extends z.ZodType>(schema: T) => schema.optional().catch(undefined);
const list = <T extends z.ZodType>(element: T) => z.array(maybe(element)).catch([]);
const anyRecord = z.record(z.string(), z.unknown());
const text = maybe(z.string());
const limitsSchema = z.object({ models: anyRecord.catch({}) }).catch({ models: {} });
const modelNames = z.object({
  id: text,
  upstreams: list(z.object({ provider: z.string() })),
  effort_map: anyRecord.catch({}),
  reasoning_effort: maybe(z.object({ levels: z.array(z.string()) })),
});
const accountNames = z.object({
  plan: text,
  limits: limitsSchema,
  keys: list(z.object({ value: z.string().optional(), sha256: z.string().optional() })),
});
const stageNames = z.object({
  'rate-limit': z.object({ limits: limitsSchema }).optional(),
});
const namesSchema = z.object({
  providers: maybe(anyRecord),
  plans: z.record(z.string(), limitsSchema).catch({}),
  stages: list(stageNames),
  models: list(modelNames),
  passthrough: list(z.object({ path: text, provider: text })),
  accounts: z.record(z.string(), maybe(accountNames)).catch({}),
});
type Names = z.output<typeof namesSchema>;
type AccountNames = readonly (readonly [id: string, Names['accounts'][string]])[];

/** What a configuration may refer to beside its own names. */
export interface Known {
  /** By the name that the configuration has for them. */
  readonly adapters: readonly Pick<ProviderDefinition, 'name' | 'efforts'>[];
  /** Paths of the gateway's own. */
  readonly paths: readonly string[];
}

/** Reports what no schema sees, even in a configuration that is wrong elsewhere: references to unknown names, and duplicate names. */
export function checkReferences(config: unknown, known: Known = { adapters: [], paths: [] }): ConfigIssue[] {
  const { success, data } = namesSchema.safeParse(config);
  if (!success) return [];
  // There may be a million: each reading of a large object takes a second.
  const accounts = Object.entries(data.accounts);
  return [
    ...checkModels(data),
    ...checkEfforts(data, known),
    ...checkPassthrough(data, known),
    ...checkAccounts(accounts, data),
    ...checkLimits(accounts, data),
    ...checkStageReferences(config),
  ];
}

function* checkModels({ models, providers }: Names): Generator<ConfigIssue> {
  yield* checkTwice(models, 'models', 'id');
  for (const [at, model] of models.entries()) {
    if (!model) continue;
    for (const [number, upstream] of model.upstreams.entries()) {
      if (!upstream || !providers || Object.hasOwn(providers, upstream.provider)) continue;
      const path = ['models', at, 'upstreams', number, 'provider'];
      yield { path, message: noSuchName('provider', upstream.provider, Object.keys(providers)) };
    }
    for (const level of Object.keys(model.effort_map)) {
      if (!model.reasoning_effort || model.reasoning_effort.levels.includes(level)) continue;
      yield { path: ['models', at, 'effort_map', level], message: 'is not one of reasoning_effort.levels' };
    }
  }
}

/** Reports entries of a list with a name that an earlier one has. */
function* checkTwice<Name extends string>(
  entries: readonly ({ readonly [N in Name]?: string | undefined } | undefined)[],
  section: string,
  name: Name,
): Generator<ConfigIssue> {
  const seen = new Set<string>();
  for (const [at, entry] of entries.entries()) {
    const value = entry?.[name];
    if (value === undefined) continue;
    if (seen.has(value)) yield { path: [section, at, name], message: `${value} is listed twice` };
    seen.add(value);
  }
}

function* checkPassthrough({ passthrough, providers }: Names, { paths }: Known): Generator<ConfigIssue> {
  const known = providers && Object.keys(providers);
  for (const [at, { path, provider } = {}] of passthrough.entries()) {
    if (path !== undefined && paths.some(own => covers(own, path)))
      yield {
        path: ['passthrough', at, 'path'],
        message: `${path} is the gateway's own and cannot be let through`,
      };
    if (provider !== undefined && known && !known.includes(provider)) {
      yield { path: ['passthrough', at, 'provider'], message: noSuchName('provider', provider, known) };
    }
  }
  yield* checkTwice(passthrough, 'passthrough', 'path');
}

/** Whether the gateway's path `own`, which may end in a slash and a star, covers `path`. */
const covers = (own: string, path: string): boolean =>
  own === path || (own.endsWith('/*') && path.startsWith(own.slice(0, -1)));

/** Reports effort levels that an upstream's adapter does not support. */
function* checkEfforts({ models, providers = {} }: Names, { adapters }: Known): Generator<ConfigIssue> {
  const adapterOf = (provider: string | undefined) => {
    const { adapter } = Object(providers[provider ?? '']) as { adapter?: unknown };
    return adapters.find(({ name }) => name === adapter);
  };
  for (const [at, model] of models.entries()) {
    for (const [number, level] of (model?.reasoning_effort?.levels ?? []).entries()) {
      if (!model || Object.hasOwn(model.effort_map, level)) continue;
      const asked = model.upstreams.map(upstream => adapterOf(upstream?.provider));
      const adapter = asked.find(found => found?.efforts && !found.efforts.includes(level));
      if (!adapter) continue;
      const path = ['models', at, 'reasoning_effort', 'levels', number];
      const message = `the adapter ${adapter.name} has no words for '${level}'; say in effort_map.${level} what is sent`;
      yield { path, message };
    }
  }
}

function* checkAccounts(accounts: AccountNames, { plans }: Names): Generator<ConfigIssue> {
  const owners = new Map<string, string>();
  for (const [id, account] of accounts) {
    const { plan, keys } = account ?? { plan: undefined, keys: [] };
    if (plan !== undefined && !Object.hasOwn(plans, plan)) {
      yield { path: ['accounts', id, 'plan'], message: noSuchName('plan', plan, Object.keys(plans)) };
    }
    for (const [at, { value, sha256 } = {}] of keys.entries()) {
      // The same key may be written in both forms.
      const digest = value === undefined ? sha256?.toLowerCase() : hashKey(value);
      if (digest === undefined) continue;
      const owner = owners.get(digest);
      if (owner !== undefined)
        yield {
          path: ['accounts', id, 'keys', at],
          message: `the same key belongs to account '${owner}' already`,
        };
      owners.set(digest, id);
    }
  }
}

/** Reports limits on unknown models, which would silently limit nothing. */
function* checkLimits(accounts: AccountNames, { models, plans, stages }: Names): Generator<ConfigIssue> {
  const known = new Set(models.flatMap(model => model?.id ?? []));
  if (known.size === 0) return;
  const check = (limits: z.output<typeof limitsSchema> | undefined, ...path: PropertyKey[]): ConfigIssue[] =>
    Object.keys(limits?.models ?? {})
      .filter(model => !known.has(model))
      .map(model => ({
        path: [...path, 'models', model],
        message: noSuchName('model', model, [...known]),
      }));
  for (const [name, plan] of Object.entries(plans)) yield* check(plan, 'plans', name);
  for (const [id, account] of accounts) yield* check(account?.limits, 'accounts', id, 'limits');
  for (const [at, stage] of stages.entries())
    yield* check(stage?.['rate-limit']?.limits, 'stages', at, 'rate-limit', 'limits');
}
