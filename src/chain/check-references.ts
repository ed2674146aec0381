import { z } from 'zod';
import type { ConfigIssue } from '../diagnostics/config-error.ts';
import { noSuchName } from '../diagnostics/suggestion.ts';
import { isDialectPath } from '../dialects/built-in-dialects.ts';
import { hashKey } from '../stores/accounts/hash-key.ts';
import type { ProviderDefinition } from '../upstream/adapter.ts';

const anyRecord = z.record(z.string(), z.unknown());

/**
 * The parts of a configuration that refer to one another. Invalid parts are read as absent: their own schema reports them, and the names
 * beside them are still checked in the same run.
 */
const limitsSchema = z.object({ models: anyRecord.catch({}) }).catch({ models: {} });
const someNames = z.union([z.string().transform(name => [name]), z.array(z.string())]).catch([]);
const whenSchema = z.object({ model: someNames, plan: someNames });
const namesSchema = z.object({
  providers: anyRecord.optional().catch(undefined),
  plans: z.record(z.string(), limitsSchema).catch({}),
  stages: z
    .array(
      z
        .object({
          'rate-limit': z.object({ limits: limitsSchema }).optional(),
          'stream-rechunk': z.object({ classes: z.array(z.object({ when: whenSchema })) }).optional(),
        })
        .catch({}),
    )
    .catch([]),
  models: z
    .array(
      z
        .object({
          id: z.string().optional().catch(undefined),
          upstreams: z.array(z.object({ provider: z.string() }).optional().catch(undefined)).catch([]),
          effort_map: anyRecord.catch({}),
          reasoning_effort: z
            .object({ levels: z.array(z.string()) })
            .optional()
            .catch(undefined),
        })
        .optional()
        .catch(undefined),
    )
    .catch([]),
  passthrough: z
    .array(
      z
        .object({
          path: z.string().optional().catch(undefined),
          provider: z.string().optional().catch(undefined),
        })
        .catch({}),
    )
    .catch([]),
  accounts: z
    .record(
      z.string(),
      z
        .object({
          plan: z.string().optional().catch(undefined),
          limits: limitsSchema,
          keys: z
            .array(z.object({ value: z.string().optional(), sha256: z.string().optional() }).catch({}))
            .catch([]),
        })
        .optional()
        .catch(undefined),
    )
    .catch({}),
});
type Names = z.output<typeof namesSchema>;

type Adapter = Pick<ProviderDefinition, 'name' | 'efforts'>;

/** Reports what no schema sees, even in a configuration that is wrong elsewhere: references to unknown names, and duplicate names. */
export function checkReferences(config: unknown, adapters: readonly Adapter[] = []): ConfigIssue[] {
  const names = namesSchema.safeParse(config);
  if (!names.success) return [];
  const { data } = names;
  return [
    ...checkModels(data),
    ...checkEfforts(data, adapters),
    ...checkPassthrough(data),
    ...checkAccounts(data),
    ...checkLimits(data),
    ...checkClasses(data),
  ];
}

function* checkModels({ models, providers }: Names): Generator<ConfigIssue> {
  const known = providers && Object.keys(providers);
  const seen = new Set<string>();
  for (const [at, model] of models.entries()) {
    if (!model) continue;
    if (model.id !== undefined && seen.has(model.id))
      yield { path: ['models', at, 'id'], message: `${model.id} is listed twice` };
    if (model.id !== undefined) seen.add(model.id);
    for (const [number, upstream] of model.upstreams.entries()) {
      if (!upstream || !known || known.includes(upstream.provider)) continue;
      const path = ['models', at, 'upstreams', number, 'provider'];
      yield { path, message: noSuchName('provider', upstream.provider, known) };
    }
    for (const level of Object.keys(model.effort_map)) {
      if (!model.reasoning_effort || model.reasoning_effort.levels.includes(level)) continue;
      yield { path: ['models', at, 'effort_map', level], message: 'is not one of reasoning_effort.levels' };
    }
  }
}

function* checkPassthrough({ passthrough, providers }: Names): Generator<ConfigIssue> {
  const known = providers && Object.keys(providers);
  const seen = new Set<string>();
  for (const [at, { path, provider }] of passthrough.entries()) {
    if (path !== undefined && isDialectPath(path))
      yield {
        path: ['passthrough', at, 'path'],
        message: `${path} is the gateway's own and cannot be let through`,
      };
    if (path !== undefined && seen.has(path))
      yield { path: ['passthrough', at, 'path'], message: `${path} is listed twice` };
    if (path !== undefined) seen.add(path);
    if (provider !== undefined && known && !known.includes(provider)) {
      yield { path: ['passthrough', at, 'provider'], message: noSuchName('provider', provider, known) };
    }
  }
}

/** Reports effort levels that an upstream's adapter does not support. */
function* checkEfforts(
  { models, providers = {} }: Names,
  adapters: readonly Adapter[],
): Generator<ConfigIssue> {
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

function* checkAccounts({ accounts, plans }: Names): Generator<ConfigIssue> {
  const owners = new Map<string, string>();
  for (const [id, account] of Object.entries(accounts)) {
    const { plan, keys } = account ?? { plan: undefined, keys: [] };
    if (plan !== undefined && !Object.hasOwn(plans, plan)) {
      yield { path: ['accounts', id, 'plan'], message: noSuchName('plan', plan, Object.keys(plans)) };
    }
    for (const [at, { value, sha256 }] of keys.entries()) {
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
function* checkLimits({ models, plans, accounts, stages }: Names): Generator<ConfigIssue> {
  const known = models.flatMap(model => model?.id ?? []);
  if (known.length === 0) return;
  const limited: (readonly [readonly PropertyKey[], object])[] = [
    ...Object.entries(plans).map(([name, plan]) => [['plans', name, 'models'], plan.models] as const),
    ...Object.entries(accounts).map(
      ([id, account]) => [['accounts', id, 'limits', 'models'], account?.limits.models ?? {}] as const,
    ),
    ...stages.map(
      ({ 'rate-limit': stage }, at) =>
        [['stages', at, 'rate-limit', 'limits', 'models'], stage?.limits.models ?? {}] as const,
    ),
  ];
  for (const [path, ofModels] of limited) {
    for (const model of Object.keys(ofModels)) {
      if (known.includes(model)) continue;
      yield { path: [...path, model], message: noSuchName('model', model, known) };
    }
  }
}

/** Reports stream classes for unknown models or plans, which would never match. */
function* checkClasses({ models, plans, stages }: Names): Generator<ConfigIssue> {
  const known = { model: models.flatMap(model => model?.id ?? []), plan: Object.keys(plans) };
  for (const [at, { 'stream-rechunk': stage }] of stages.entries())
    for (const [number, { when }] of (stage?.classes ?? []).entries())
      for (const kind of ['model', 'plan'] as const)
        for (const name of when[kind].filter(given => !known[kind].includes(given)))
          yield {
            path: ['stages', at, 'stream-rechunk', 'classes', number, 'when', kind],
            message: noSuchName(kind, name, known[kind]),
          };
}
