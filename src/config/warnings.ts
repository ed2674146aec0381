import { builtInStages } from '../../plugins/index.ts';
import type { Json } from '../common/json-object.ts';
import { AccountLimits } from '../gateway/limits/plan-limits.ts';
import { aliasWarnings } from './aliases.ts';
import { signInWarnings } from './check-sign-in.ts';
import { stageOrderWarnings } from './checks/stage-order.ts';
import type { GivenPlugins } from './given-plugins.ts';
import type { ListedStage } from './load-stages.ts';
import { priceWarnings } from './price-warnings.ts';
import { type CheckedConfig, configSchema } from './schema.ts';
import { stateOptions } from './state-options.ts';

/**
 * A line, with its path, for each option that has no effect, each stage in the wrong place, each setting under which every request is
 * refused, and each price that cannot be meant. `given`: whether the application names accounts and operators.
 */
export function* warningsOf(
  config: CheckedConfig,
  stages: readonly ListedStage[],
  given: Pick<GivenPlugins, 'accountOf' | 'operatorOf'>,
): Generator<string> {
  const accountOf = given.accountOf !== undefined;
  // There may be a million: each reading of a large object takes a second.
  const accounts = Object.entries(config.accounts);
  yield* stageOrderWarnings(stages.map(({ name }) => name));
  yield* accountWarnings(config, accounts, stages, accountOf);
  yield* limitWarnings(config, accounts, stages, accountOf);
  yield* sectionWarnings(config);
  yield* signInWarnings(config, given.operatorOf !== undefined);
  yield* unusedProviders(config);
  yield* routingWarnings(config);
  yield* priceWarnings(config.models);
  yield* aliasWarnings(config);
}

type Accounts = readonly (readonly [id: string, CheckedConfig['accounts'][string]])[];

function* accountWarnings(
  config: CheckedConfig,
  all: Accounts,
  stages: readonly ListedStage[],
  accountOf: boolean,
): Generator<string> {
  const { stores, server, metrics } = config;
  if (server.open) {
    const areBuiltIn = stages.every(({ name }) => builtInStages.some(({ stageName }) => stageName === name));
    if (areBuiltIn && all.length > 0)
      yield 'accounts: has no effect: server.open is set, and no stage finds the account of a key';
    if (areBuiltIn && metrics.account_label)
      yield 'metrics.account_label: has no effect: server.open is set, and no stage finds an account';
    return;
  }
  if (accountOf || stores.records !== 'memory') return;
  if (all.every(([, { keys }]) => keys.length === 0))
    yield 'accounts: has no key, and records are in memory: every request is answered 401 until a key is issued in the dashboard';
  for (const [id, { plan, limits, keys }] of all)
    if ((plan ?? limits) !== undefined && keys.length === 0)
      yield `accounts.${id}: has a plan or limits but no keys, so it cannot be used`;
}

function* limitWarnings(
  config: CheckedConfig,
  all: Accounts,
  stages: readonly ListedStage[],
  accountOf: boolean,
): Generator<string> {
  const { plans, accounts, stores, admin, responses } = config;
  const rateLimit = stages.find(({ name }) => name === 'rate-limit')?.options;
  const isComplete = !accountOf && stores.records === 'memory' && !hasSignIn(admin);
  if (!isComplete) {
    if (!rateLimit && stores.records !== 'memory')
      yield 'stages: does not list rate-limit: limits of accounts in the records store are not enforced';
    return;
  }
  const { reasoning_placement_by_account: placements, store } = responses;
  for (const [name, byAccount] of Object.entries({
    reasoning_placement_by_account: placements,
    'store.per_account': store?.per_account,
  }))
    for (const id of Object.keys(byAccount ?? {}))
      if (!Object.hasOwn(accounts, id))
        yield `responses.${name}.${id}: has no effect: there is no such account`;
  const used = new Set(all.map(([, { plan }]) => plan));
  for (const name of Object.keys(plans))
    if (!used.has(name)) yield `plans.${name}: has no effect: no account has this plan`;
  if (rateLimit?.dry_run !== true || rateLimit.limits !== undefined) return;
  if (all.every(([, { plan, limits }]) => new AccountLimits(plans[plan ?? ''], limits).all.length === 0))
    yield 'stages.rate-limit.dry_run: has no effect: no account has limits';
}

const hasSignIn = ({ users, oidc, proxy }: CheckedConfig['admin']): boolean =>
  Object.keys(users).length > 0 || oidc !== undefined || proxy !== undefined;

/** Options that another option of their section leaves without effect. */
function* sectionWarnings(config: CheckedConfig): Generator<string> {
  const { server, admin, portal, tracing, stores } = config;
  if (stores.state === 'memory')
    yield* changed(config, 'stores', Object.keys(stateOptions), 'state is kept in memory');
  if (stores.records === 'memory') {
    const names = ['key_cache_ttl_ms', 'ledger_queue', 'ledger_queue_rows'];
    yield* changed(config, 'stores', names, 'records are in memory');
  }
  if (!hasSignIn(admin))
    yield* changed(config, 'admin', ['session_idle_ms', 'session_max_ms'], 'admin.users is empty');
  else if (admin.session_idle_ms > admin.session_max_ms)
    yield 'admin.session_idle_ms: has no effect: session_max_ms is over before';
  if (!portal.enabled) {
    const names = ['users', 'oidc', 'session_idle_ms', 'session_max_ms', 'max_keys', 'trust_proxy'];
    yield* changed(config, 'portal', names, 'portal.enabled is false');
  } else if (portal.session_idle_ms > portal.session_max_ms)
    yield 'portal.session_idle_ms: has no effect: session_max_ms is over before';
  if (!tracing.capture_content)
    yield* changed(config, 'tracing', ['max_content_characters'], 'capture_content is false');
  if (server.max_background === 0)
    yield* changed(config, 'server', ['max_background_ms'], 'max_background is 0');
}

/** Settings of `routing` for all models that no model can use. */
function* routingWarnings(config: CheckedConfig): Generator<string> {
  const { routing, models, providers } = config;
  if (models.some(({ upstreams }) => upstreams.length > 1)) return;
  const why = 'every model has one upstream';
  yield* changed(config, 'routing', ['sticky', 'sticky_overload'], why);
  const retries =
    routing.retries_per_upstream > 0 ||
    models.some(model => (model.routing.retries_per_upstream ?? 0) > 0) ||
    Object.values(providers).some(({ api_keys, api_key_file }) => api_keys ?? api_key_file);
  if (retries) return;
  const names = ['max_attempts', 'backoff_ms', 'max_backoff_ms', 'retry_ratio', 'min_retries_per_second'];
  yield* changed(config, 'routing', names, `${why}, and retries_per_upstream is 0`);
}

/** A warning for each of `names` that is not as it is by default. */
function* changed(
  config: CheckedConfig,
  section: 'stores' | 'admin' | 'portal' | 'tracing' | 'server' | 'routing',
  names: readonly string[],
  why: string,
): Generator<string> {
  const defaults: Json = configSchema.shape[section].parse(undefined);
  const values: Json = config[section];
  for (const name of names)
    if (JSON.stringify(values[name]) !== JSON.stringify(defaults[name]))
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
