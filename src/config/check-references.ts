import { z } from 'zod';
import { builtInProviders } from '../../plugins/index.ts';
import { routeOf } from '../inbound/endpoint.ts';
import { digestOf } from '../key-digest.ts';
import type { ConfigIssue } from './issue.ts';

const anyRecord = z.record(z.string(), z.unknown());

/**
 * What refers to what. Anything that is not as it should be is read as absent: its own schema tells that, and the names beside it are
 * still checked in the same run.
 */
const limitsSchema = z.object({ models: anyRecord.catch({}) }).catch({ models: {} });
const namesSchema = z.object({
  providers: anyRecord.optional().catch(undefined),
  plans: z.record(z.string(), limitsSchema).catch({}),
  stages: z
    .array(z.object({ 'rate-limit': z.object({ limits: limitsSchema }).optional() }).catch({}))
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

/** What no schema sees, of a configuration that may be wrong elsewhere: names that point nowhere, and names given twice. */
export function checkReferences(config: unknown): ConfigIssue[] {
  const names = namesSchema.safeParse(config);
  if (!names.success) return [];
  return [checkModels, checkPassthrough, checkAccounts, checkLimits].flatMap(check => [...check(names.data)]);
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
      yield {
        path,
        message: `there is no provider '${upstream.provider}'; there are: ${known.join(', ') || '(none)'}`,
      };
    }
    for (const level of Object.keys(model.effort_map)) {
      if (!model.reasoning_effort || model.reasoning_effort.levels.includes(level)) continue;
      yield { path: ['models', at, 'effort_map', level], message: 'is not one of reasoning_effort.levels' };
    }
    yield* checkEfforts(model, at, providers ?? {});
  }
}

function* checkPassthrough({ passthrough, providers }: Names): Generator<ConfigIssue> {
  const known = providers && Object.keys(providers);
  const seen = new Set<string>();
  for (const [at, { path, provider }] of passthrough.entries()) {
    if (path !== undefined && routeOf(path))
      yield {
        path: ['passthrough', at, 'path'],
        message: `${path} is the gateway's own and cannot be let through`,
      };
    if (path !== undefined && seen.has(path))
      yield { path: ['passthrough', at, 'path'], message: `${path} is listed twice` };
    if (path !== undefined) seen.add(path);
    if (provider !== undefined && known && !known.includes(provider)) {
      const message = `there is no provider '${provider}'; there are: ${known.join(', ') || '(none)'}`;
      yield { path: ['passthrough', at, 'provider'], message };
    }
  }
}

/** A level that an upstream's adapter has no words for would mean nothing there. */
function* checkEfforts(
  { reasoning_effort, effort_map, upstreams }: NonNullable<Names['models'][number]>,
  at: number,
  providers: Record<string, unknown>,
): Generator<ConfigIssue> {
  for (const [number, level] of (reasoning_effort?.levels ?? []).entries()) {
    if (Object.hasOwn(effort_map, level)) continue;
    const adapters = upstreams.map(upstream => adapterOf(providers[upstream?.provider ?? '']));
    const adapter = adapters.find(found => found?.efforts && !found.efforts.includes(level));
    if (!adapter) continue;
    const path = ['models', at, 'reasoning_effort', 'levels', number];
    const message = `the adapter ${adapter.name} has no words for '${level}'; say in effort_map.${level} what is sent`;
    yield { path, message };
  }
}

const adapterOf = (provider: unknown) =>
  builtInProviders.find(
    ({ name }) => name === (provider as { adapter?: unknown } | null | undefined)?.adapter,
  );

function* checkAccounts({ accounts, plans }: Names): Generator<ConfigIssue> {
  const owners = new Map<string, string>();
  for (const [id, account] of Object.entries(accounts)) {
    const { plan, keys } = account ?? { plan: undefined, keys: [] };
    if (plan !== undefined && !Object.hasOwn(plans, plan)) {
      yield {
        path: ['accounts', id, 'plan'],
        message: `there is no plan '${plan}'; there are: ${Object.keys(plans).join(', ') || '(none)'}`,
      };
    }
    for (const [at, { value, sha256 }] of keys.entries()) {
      // One key may be written in both forms.
      const digest = value === undefined ? sha256?.toLowerCase() : digestOf(value);
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

/** A limit on a model that there is not would silently limit nothing. */
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
      yield {
        path: [...path, model],
        message: `there is no model '${model}'; there are: ${known.join(', ')}`,
      };
    }
  }
}
