import { resolve } from 'node:path';
import { type ConfigError, type ConfigIssue, type MakePlugin, madeAt } from '../common/config-error.ts';
import { asObject, type Json } from '../common/json-object.ts';
import type { Model } from '../gateway/catalog/catalog.ts';
import type { DialectDefinition, ModelAliases } from '../gateway/dialects/define-dialect.ts';
import type { StagePlan } from '../gateway/exchange/stage-plan.ts';
import type { TokenCounter } from '../gateway/settlement/token-estimator.ts';
import type { ExtensionDefinition } from '../records/define-extension.ts';
import type { RecordsPlace } from '../records/define-records-store.ts';
import type { StatePlace } from '../records/define-state-store.ts';
import { aliasPlans, hasAliases, listedAliases } from './aliases.ts';
import { builtInDialects } from './built-in-dialects.ts';
import { type Candidate, mistakesIn, mistakesTogether } from './check-config.ts';
import { checkPackages } from './check-packages.ts';
import { tlsWarnings, withTlsPaths } from './check-tls.ts';
import { type ExpandedPart, expandPart } from './checked-part.ts';
import type { Environment, ExpandedValue } from './environment.ts';
import type { GivenPlugins } from './given-plugins.ts';
import { loadCounter } from './gpt-counter.ts';
import { pluginsIn } from './import-plugin.ts';
import { type LoadedPlugins, loadPlugins } from './load-plugins.ts';
import { type ProviderSettings, providerOf } from './load-provider.ts';
import type { ListedStage } from './load-stages.ts';
import { type ConfigText, readConfig, type WrittenConfig } from './read-config.ts';
import { type RecordsSettings, recordsSettings } from './records-options.ts';
import type { CheckedConfig, GatewayConfig } from './schema.ts';
import { warningsOf } from './warnings.ts';

/** A configuration as an object, or the path of a YAML or JSON file. */
export type ConfigSource = GatewayConfig | string;

/** A checked configuration with its plugins loaded: everything a gateway is created from. */
export interface Settings
  extends Omit<CheckedConfig, 'models' | 'providers' | 'stages' | 'dialects' | 'extensions'> {
  readonly models: readonly Model[];
  readonly providers: readonly ProviderSettings[];
  /** Where and how records are kept. */
  readonly records: RecordsSettings;
  /** The server of state; undefined for memory. */
  readonly stateServer: StatePlace | undefined;
  /** Both, as other options of the stores would have them. */
  placesOf(stores: CheckedConfig['stores']): Pick<Settings, 'records' | 'stateServer'>;
  readonly stages: readonly StagePlan[];
  /** Whether the address of the public listener is in the configuration, rather than the default. */
  readonly isWritten: { readonly host: boolean; readonly port: boolean };
  /** The aliases that the catalog shows, if it does. */
  readonly listedAliases: ModelAliases | undefined;
  readonly dialects: readonly DialectDefinition[];
  readonly extensions: readonly ExtensionDefinition[];
  /** What they were loaded from, with the text of a file. */
  readonly source: unknown;
  /** Make the plugins, by their number or provider. Throw a ConfigError that names the place if that fails. */
  readonly made: {
    readonly stage: MakePlugin;
    readonly dialect: MakePlugin;
    readonly adapter: <T>(provider: string, make: () => T) => T;
  };
  /** A ConfigError that lists mistakes which only the plugins could show. */
  mistake(issues: readonly ConfigIssue[]): ConfigError;
  /** Where the value at a path of the configuration comes from. */
  readonly sourceOf: WrittenConfig['sourceOf'];
  /** Creates counters for upstreams that report no usage. */
  readonly newCounter: () => TokenCounter;
  /** Warnings about valid options that have no effect. */
  readonly warnings: readonly string[];
}

/**
 * Reads and checks a configuration with the plugins that it names and those `given` in code. Throws a ConfigError that lists every mistake
 * with its path, and its line if it has one.
 */
export async function loadConfig(
  source: ConfigSource | ConfigText,
  environment: Environment = process.env,
  given: GivenPlugins = {},
): Promise<Settings> {
  return (await loadWritten(source, environment, given)).settings;
}

/** A configuration as it was written and as it is checked, with all defaults. */
export interface LoadedConfig {
  readonly settings: Settings;
  readonly config: CheckedConfig;
  readonly stages: readonly ListedStage[];
  /** As it is written, without the content of variables and files. */
  readonly written: unknown;
  /** The values that came from the environment or from files. */
  readonly expanded: readonly ExpandedValue[];
}

/** The same as `loadConfig`, with what the settings were made from. */
export async function loadWritten(
  source: ConfigSource | ConfigText,
  environment: Environment,
  given: GivenPlugins = {},
): Promise<LoadedConfig> {
  const written = readConfig(source);
  const { directory } = written;
  const part = expandPart(written, environment);
  const { issues } = part;
  const value = asObject(part.value);
  const plugins = await loadPlugins(value, given, directory, issues);
  const { stages, stores } = plugins;
  const config = part.check(plugins.schema);
  const place = given.records
    ? stores.recordsIn(given.records)
    : config && stores.recordsAt(config.stores.records, directory);
  const server = config && stores.stateAt(config.stores.state);
  const candidate = { value, plugins, given, directory };
  for (const found of [plugins.ofStores, ...mistakesTogether(candidate)]) part.report(found);
  if (config) {
    issues.push(...mistakesIn(config, candidate, issues));
    const needed = { records: place, state: given.state ? undefined : server };
    issues.push(...(await checkPackages(config, needed)));
  }
  const newCounter = await loadCounter(config?.usage.estimator, issues);
  if (issues.length > 0 || !config || !place) throw part.error(given.stages ? issues.map(inOptions) : issues);
  const placesOf = placesBeside(config.stores, { place, server }, candidate);
  const settings: Settings = {
    ...settingsOf(config, candidate),
    ...placesOf(config.stores),
    placesOf,
    source: written.source,
    made: makersOf(part.error, plugins, given, hasAliases(config) ? 1 : 0),
    mistake: part.error,
    sourceOf: written.sourceOf,
    newCounter,
  };
  return { settings, config, stages, written: written.value, expanded: part.expanded };
}

/** Where records and state are with other options of the stores than those `own`, whose records are at `place` and state at `server`. */
function placesBeside(
  own: CheckedConfig['stores'],
  { place, server }: { readonly place: RecordsPlace; readonly server: StatePlace | undefined },
  { given, directory, plugins: { stores } }: Candidate,
): Settings['placesOf'] {
  // A store is asked for its place once.
  const recordsAt = (text: string) =>
    given.records || text === own.records ? place : (stores.recordsAt(text, directory) ?? place);
  return options => ({
    records: recordsSettings(options, directory, recordsAt(options.records)),
    stateServer: options.state === own.state ? server : stores.stateAt(options.state),
  });
}

/** An issue of the stages at the place of the option `stages`. */
const inOptions = (issue: ConfigIssue): ConfigIssue =>
  issue.path[0] === 'stages' ? { ...issue, path: ['options', ...issue.path] } : issue;

function writtenAddress(value: Json): Settings['isWritten'] {
  const { host, port } = asObject(value.server);
  return { host: host !== undefined, port: port !== undefined };
}

/** A checked configuration as a gateway needs it: with its plugins, with absolute paths, and with the warnings about it. */
function settingsOf(config: CheckedConfig, { value, plugins, given, directory }: Candidate) {
  const { adapters, stages } = plugins;
  const providers = Object.entries(config.providers).map(([name, written]) =>
    providerOf(name, written, directory, adapters),
  );
  const extra = new Map(providers.map(({ name, config: { extra_parameters } }) => [name, extra_parameters]));
  const models = config.models.map(model => ({
    ...model,
    extra_parameters: [...new Set(model.upstreams.flatMap(({ provider }) => extra.get(provider) ?? []))],
    has_paid_prices: model.upstreams.some(({ paid_prices }) => paid_prices !== undefined),
  }));
  const { socket } = config.admin;
  const server = withTlsPaths(config.server, directory);
  const admin = withTlsPaths(
    socket === undefined ? config.admin : { ...config.admin, socket: resolve(directory, socket) },
    directory,
  );
  // Not memory, whatever the configuration has by default.
  const stores = given.records ? { ...config.stores, records: 'pool' } : config.stores;
  const warnings = [...warningsOf({ ...config, stores }, stages, given), ...tlsWarnings({ server, admin })];
  return {
    ...{ ...config, server, admin, models, providers, warnings },
    stages: [...aliasPlans(config), ...stages.flatMap(({ plan }) => plan ?? [])],
    listedAliases: listedAliases(config),
    dialects: [...builtInDialects, ...pluginsIn(plugins.dialects)],
    extensions: plugins.extensions,
    isWritten: writtenAddress(value),
  };
}

/** What makes the plugins; a mistake of one has the place where it is named. `unlisted` stages stand before those that are listed. */
function makersOf(
  error: ExpandedPart['error'],
  { dialects }: LoadedPlugins,
  given: GivenPlugins,
  unlisted: number,
): Settings['made'] {
  const stages = given.stages ? ['options', 'stages'] : ['stages'];
  const dialectPath = (at: number) => dialects[at - builtInDialects.length]?.path ?? [];
  return {
    stage: (at, make) => madeAt(error, [...stages, at - unlisted], make),
    dialect: (at, make) => madeAt(error, dialectPath(at), make),
    adapter: (provider, make) => madeAt(error, ['providers', provider, 'adapter'], make),
  };
}
