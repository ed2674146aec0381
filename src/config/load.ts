import { dirname, resolve } from 'node:path';
import { builtInProviders } from '../../plugins/index.ts';
import type { Model } from '../catalog/catalog.ts';
import type { StagePlan } from '../chain/stage-plan.ts';
import { fieldPath } from '../dialects/explain.ts';
import { loadGptCounter } from '../settlement/gpt-counter.ts';
import { type TokenCounter, TokenEstimator } from '../settlement/token-estimator.ts';
import type { RecordsSettings } from '../stores/gateway-records.ts';
import { type StateConfig, stateSchema } from '../stores/state/options.ts';
import type { ProviderDefinition } from '../upstream/adapter.ts';
import { type ProviderConfig, providerBaseSchema } from '../upstream/provider.ts';
import { acceptedAt } from './accepted.ts';
import { checkLimitStage } from './check-limits.ts';
import { checkReferences } from './check-references.ts';
import { checkRouting } from './check-routing.ts';
import { expandVariables } from './environment.ts';
import { ConfigError, type ConfigIssue, issuesOf } from './issue.ts';
import { loadStages } from './load-stages.ts';
import { checkProviderKeys } from './provider-keys.ts';
import { readConfigFile } from './read-file.ts';
import { recordsSettings } from './records-settings.ts';
import { type CheckedConfig, configSchema, type GatewayConfig } from './schema.ts';

/** A configuration as an object, or the path of a YAML or JSON file. */
export type ConfigSource = GatewayConfig | string;

export interface ProviderSettings {
  readonly name: string;
  readonly definition: ProviderDefinition;
  readonly config: ProviderConfig;
  /** The adapter's own options. */
  readonly options: unknown;
}

/** A configuration that has been checked, with its plugins loaded: all that a gateway is made of. */
export interface Settings extends Omit<CheckedConfig, 'models' | 'providers' | 'stages' | 'usage'> {
  readonly models: readonly Model[];
  readonly providers: readonly ProviderSettings[];
  readonly records: RecordsSettings;
  readonly stages: readonly StagePlan[];
  /** What counts tokens where the upstream does not. */
  readonly newCounter: () => TokenCounter;
  /** What is accepted but has no effect; to be said loudly. */
  readonly warnings: readonly string[];
}

/** Reads and checks a configuration. Throws a ConfigError that lists every mistake with its path, and its line if it has one. */
export async function loadConfig(
  source: ConfigSource,
  environment: Readonly<Record<string, string | undefined>> = process.env,
): Promise<Settings> {
  const file =
    typeof source === 'string' ? readConfigFile(source) : { value: source, lineOf: () => undefined };
  const directory = typeof source === 'string' ? dirname(resolve(source)) : process.cwd();
  const issues: ConfigIssue[] = [];
  const value = expandVariables(file.value, environment, issues);
  const unset = new Set(issues.map(({ path }) => fieldPath(path)));
  const parsed = configSchema.safeParse(value);
  const found = parsed.success ? [] : issuesOf(parsed.error, path => acceptedAt(configSchema, path, value));
  found.push(...checkReferences(value), ...checkRouting(value), ...checkProviderKeys(value, directory));
  // What a variable that is not set leaves behind is no second mistake.
  issues.push(...found.filter(({ path }) => !unset.has(fieldPath(path))));
  const entries = parsed.success ? parsed.data.stages : stagesIn(value);
  const stages = await loadStages(entries, directory, issues);
  if (parsed.success) issues.push(...checkLimitStage(parsed.data));
  const newCounter = await loadCounter(parsed.data?.usage.estimator, issues);
  if (issues.length > 0 || !parsed.success) {
    const placed = issues.map(issue => ({ ...issue, line: file.lineOf(issue.path) }));
    throw new ConfigError(typeof source === 'string' ? source : 'configuration', placed);
  }
  return { ...settingsOf(parsed.data, directory), stages, newCounter };
}

/** The stages of a configuration that is wrong elsewhere, so that their mistakes are told in the same run; `undefined` for a wrong one. */
function stagesIn(value: unknown): (string | Record<string, unknown> | undefined)[] | undefined {
  const { stages } = (typeof value === 'object' && value !== null ? value : {}) as { stages?: unknown };
  if (!Array.isArray(stages)) return undefined;
  const isEntry = (entry: unknown) =>
    (typeof entry === 'string' && entry !== '') ||
    (typeof entry === 'object' && entry !== null && !Array.isArray(entry));
  return stages.map(entry => (isEntry(entry) ? entry : undefined));
}

function settingsOf(config: CheckedConfig, directory: string): Omit<Settings, 'stages' | 'newCounter'> {
  const providers = Object.entries(config.providers).map(([name, given]) =>
    providerOf(name, given, directory),
  );
  const extra = new Map(providers.map(({ name, config: { extra_parameters } }) => [name, extra_parameters]));
  const models = config.models.map(model => ({
    ...model,
    extra_parameters: [...new Set(model.upstreams.flatMap(({ provider }) => extra.get(provider) ?? []))],
  }));
  const { stages: _, usage: __, ...rest } = config;
  const records = recordsSettings(config.stores, directory);
  return { ...rest, models, providers, records, warnings: warningsOf(config) };
}

/** A checked provider, with what is common to all apart from its adapter's own. */
export function providerOf(
  name: string,
  given: CheckedConfig['providers'][string],
  directory: string,
): ProviderSettings {
  const definition = builtInProviders.find(adapter => adapter.name === given.adapter)!;
  const { api_key_file: file } = given;
  const all: Record<string, unknown> =
    file === undefined ? given : { ...given, api_key_file: resolve(directory, file) };
  const common = Object.keys(providerBaseSchema.shape);
  const pick = (keep: (key: string) => boolean) =>
    Object.fromEntries(Object.entries(all).filter(([key]) => keep(key)));
  return {
    name,
    definition,
    config: pick(key => common.includes(key)) as ProviderConfig,
    options: pick(key => key !== 'adapter' && !common.includes(key)),
  };
}

/** The estimator that is configured; the package is loaded only then. */
async function loadCounter(name: string | undefined, issues: ConfigIssue[]): Promise<() => TokenCounter> {
  if (name !== 'gpt-tokenizer') return () => new TokenEstimator();
  try {
    return await loadGptCounter();
  } catch (cause) {
    issues.push({
      path: ['usage', 'estimator'],
      message: `gpt-tokenizer cannot be loaded; npm install gpt-tokenizer (${(cause as Error).message.split('\n')[0]})`,
    });
    return () => new TokenEstimator();
  }
}

/** Parts of the configuration that are read and have no effect. */
function* unused({ accounts, stores }: CheckedConfig): Generator<string> {
  for (const [id, { plan, limits, keys }] of Object.entries(accounts)) {
    if (stores.records === 'memory' && (plan ?? limits) !== undefined && keys.length === 0)
      yield `accounts.${id}: has a plan or limits and no keys, so nobody can use it`;
  }
  if (stores.state === 'memory') yield* withoutRedis(stores);
}

/** What has been set for a Redis that is not used. */
function* withoutRedis(stores: CheckedConfig['stores']): Generator<string> {
  for (const [name, value] of Object.entries(stateSchema.parse({})))
    if (JSON.stringify(stores[name as keyof StateConfig]) !== JSON.stringify(value))
      yield `stores.${name}: has no effect, state is kept in memory`;
}

const warningsOf = (config: CheckedConfig): string[] => [...unused(config)];
