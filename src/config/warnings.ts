import { builtInStages } from '../../plugins/index.ts';
import { AccountLimits } from '../stores/limits/plan-limits.ts';
import { stateSchema } from '../stores/limits/state-options.ts';
import { routingWarnings } from './routing-warnings.ts';
import { adminSchema, type CheckedConfig, serverSchema, storesSchema, tracingSchema } from './schema.ts';

/** A line, with its path, for each option that has no effect and for each setting under which every request is refused. */
export function* warningsOf(config: CheckedConfig): Generator<string> {
  yield* accountWarnings(config);
  yield* limitWarnings(config);
  yield* sectionWarnings(config);
  yield* unusedProviders(config);
  yield* routingWarnings(config);
}

/** The stages by name, each with its options as they were written. */
function stagesOf({ stages }: CheckedConfig): ReadonlyMap<string, Record<string, unknown>> {
  const wanted = stages ?? builtInStages.map(({ stageName }) => stageName);
  return new Map(
    wanted.map(entry => {
      if (typeof entry === 'string') return [entry, {}];
      const [name, options] = Object.entries(entry)[0]!;
      return [name, Object(options) as Record<string, unknown>];
    }),
  );
}

function* accountWarnings(config: CheckedConfig): Generator<string> {
  const { accounts, stores, server, metrics } = config;
  const stages = stagesOf(config);
  const all = Object.entries(accounts);
  if (server.open) {
    const areBuiltIn = [...stages.keys()].every(name =>
      builtInStages.some(({ stageName }) => stageName === name),
    );
    if (areBuiltIn && all.length > 0)
      yield 'accounts: has no effect: server.open is set, and no stage finds the account of a key';
    if (areBuiltIn && metrics.account_label)
      yield 'metrics.account_label: has no effect: server.open is set, and no stage finds an account';
    return;
  }
  if (stores.records !== 'memory') return;
  if (all.every(([, { keys }]) => keys.length === 0))
    yield 'accounts: has no key, and records are in memory: every request is answered 401 until a key is issued in the dashboard';
  for (const [id, { plan, limits, keys }] of all)
    if ((plan ?? limits) !== undefined && keys.length === 0)
      yield `accounts.${id}: has a plan or limits but no keys, so it cannot be used`;
}

function* limitWarnings(config: CheckedConfig): Generator<string> {
  const { plans, accounts, stores, admin } = config;
  const rateLimit = stagesOf(config).get('rate-limit');
  const isComplete = stores.records === 'memory' && Object.keys(admin.users).length === 0;
  if (!isComplete) {
    if (!rateLimit && stores.records !== 'memory')
      yield 'stages: does not list rate-limit: limits of accounts in the records store are not enforced';
    return;
  }
  const used = Object.values(accounts).map(({ plan }) => plan);
  for (const name of Object.keys(plans))
    if (!used.includes(name)) yield `plans.${name}: has no effect: no account has this plan`;
  const isLimited =
    rateLimit?.limits !== undefined ||
    Object.values(accounts).some(
      ({ plan, limits }) => new AccountLimits(plans[plan ?? ''], limits).all.length > 0,
    );
  if (rateLimit?.dry_run === true && !isLimited)
    yield 'stages.rate-limit.dry_run: has no effect: no account has limits';
}

/** Options that another option of their section leaves without effect. */
function* sectionWarnings({ server, admin, tracing, stores }: CheckedConfig): Generator<string> {
  if (stores.state === 'memory')
    yield* set('stores', stores, storesSchema, Object.keys(stateSchema.shape), 'state is kept in memory');
  if (stores.records === 'memory')
    yield* set(
      'stores',
      stores,
      storesSchema,
      ['key_cache_ttl_ms', 'ledger_queue', 'ledger_queue_rows'],
      'records are in memory',
    );
  if (Object.keys(admin.users).length === 0)
    yield* set('admin', admin, adminSchema, ['session_idle_ms', 'session_max_ms'], 'admin.users is empty');
  else if (admin.session_idle_ms > admin.session_max_ms)
    yield 'admin.session_idle_ms: has no effect: session_max_ms is over before';
  if (!tracing.capture_content)
    yield* set('tracing', tracing, tracingSchema, ['max_content_characters'], 'capture_content is false');
  if (server.max_background === 0)
    yield* set('server', server, serverSchema, ['max_background_ms'], 'max_background is 0');
}

/** The `names` of a section that are not as they are by default. */
function* set<T extends object>(
  section: string,
  values: T,
  schema: { parse(value: unknown): T },
  names: readonly string[],
  why: string,
): Generator<string> {
  const defaults = schema.parse({}) as Record<string, unknown>;
  for (const name of names)
    if (JSON.stringify((values as Record<string, unknown>)[name]) !== JSON.stringify(defaults[name]))
      yield `${section}.${name}: has no effect: ${why}`;
}

function* unusedProviders({ providers, models, passthrough }: CheckedConfig): Generator<string> {
  const used = new Set([
    ...models.flatMap(({ upstreams }) => upstreams.map(({ provider }) => provider)),
    ...passthrough.map(({ provider }) => provider),
  ]);
  for (const name of Object.keys(providers))
    if (!used.has(name))
      yield `providers.${name}: has no effect: no model and no path of passthrough uses it`;
}
