import { resolve } from 'node:path';
import { type ConfigError, type ConfigIssue, type MakePlugin, madeAt } from '../common/config-error.ts';
import { asObject, type Json } from '../common/json-object.ts';
import type { Model } from '../gateway/catalog/catalog.ts';
import type { DialectDefinition } from '../gateway/dialects/define-dialect.ts';
import type { StagePlan } from '../gateway/exchange/stage-plan.ts';
import type { StatePlace } from '../gateway/limits/define-state-store.ts';
import type { TokenCounter } from '../gateway/settlement/token-estimator.ts';
import type { ExtensionDefinition } from '../records/define-extension.ts';
import { builtInDialects, isOffered } from './built-in-dialects.ts';
import { checkListeners } from './check-listeners.ts';
import { checkPackages } from './check-packages.ts';
import { checkRouting } from './check-routing.ts';
import { checkSignIn } from './check-sign-in.ts';
import { checkTls, tlsWarnings, withTlsPaths } from './check-tls.ts';
import { type ExpandedPart, expandPart } from './checked-part.ts';
import { checkAccess } from './checks/check-access.ts';
import { checkBodyBounds } from './checks/check-body-bounds.ts';
import { checkReferences } from './checks/check-references.ts';
import type { Environment, ExpandedValue } from './environment.ts';
import type { GivenPlugins } from './given-plugins.ts';
import { loadCounter } from './gpt-counter.ts';
import { pluginsIn } from './import-plugin.ts';
import { type LoadedPlugins, loadPlugins } from './load-plugins.ts';
import { checkProviderKeys, type ProviderSettings, providerOf } from './load-provider.ts';
import type { ListedStage } from './load-stages.ts';
import { type ConfigText, readConfig } from './read-config.ts';
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
  for (const found of [plugins.ofStores, ...mistakesTogether(value, given, directory, plugins)])
    part.report(found);
  if (config) {
    issues.push(...mistakesIn(config, stages, given, directory, issues));
    const needed = { records: place, state: given.state ? undefined : server };
    issues.push(...(await checkPackages(config, needed)));
  }
  const newCounter = await loadCounter(config?.usage.estimator, issues);
  if (issues.length > 0 || !config || !place) throw part.error(given.stages ? issues.map(inOptions) : issues);
  const placesOf: Settings['placesOf'] = options => {
    // A store is asked for its place once.
    const isSame = given.records || options.records === config.stores.records;
    const own = isSame ? place : (stores.recordsAt(options.records, directory) ?? place);
    return {
      records: recordsSettings(options, directory, own),
      stateServer: stores.stateAt(options.state),
    };
  };
  const settings: Settings = {
    ...sectionsOf(config, directory, plugins, given),
    ...placesOf(config.stores),
    placesOf,
    stages: stages.flatMap(({ plan }) => plan ?? []),
    dialects: [...builtInDialects, ...pluginsIn(plugins.dialects)],
    extensions: plugins.extensions,
    isWritten: writtenAddress(value),
    source: written.source,
    made: makersOf(part.error, plugins, given),
    mistake: part.error,
    newCounter,
  };
  return { settings, config, stages, written: written.value, expanded: part.expanded };
}

/** What does not fit together in a configuration with its plugins, valid or not, in the order in which it is told. */
function* mistakesTogether(
  value: Json,
  given: GivenPlugins,
  directory: string,
  { adapters, dialects, stages, ofStages }: LoadedPlugins,
): Generator<Iterable<ConfigIssue>> {
  // Stages that are given as objects have their options inside.
  const listed = stages.map(({ name, options }) => ({ [name]: options }));
  const offered = [...builtInDialects, ...pluginsIn(dialects)].filter(one => isOffered(one, value));
  const known = {
    adapters: [...adapters].map(([name, adapter]) => ({ ...adapter, name })),
    paths: offered.flatMap(({ paths }) => Object.keys(paths)),
  };
  yield checkReferences({ ...value, stages: listed }, known);
  yield checkRouting(value);
  yield checkProviderKeys(value, directory);
  yield ofStages;
  if (given.stages && value.stages !== undefined)
    yield [
      { path: ['stages'], message: 'cannot be given here and in the configuration; remove one of the two' },
    ];
  const message = 'cannot be given here and as the option records; remove one of the two';
  if (given.records && asObject(value.stores).records !== undefined)
    yield [{ path: ['stores', 'records'], message }];
}

/** What is wrong with a configuration of the right form, of which `issues` are known. */
function* mistakesIn(
  config: CheckedConfig,
  stages: readonly ListedStage[],
  given: GivenPlugins,
  directory: string,
  issues: readonly ConfigIssue[],
): Generator<ConfigIssue> {
  // An unknown stage may have been meant to be auth.
  const areStages = issues.every(({ path }) => path[0] !== 'stages' || path.length > 3);
  if (areStages) yield* checkStageAccess(config, stages, given);
  yield* checkListeners(config);
  yield* checkBodyBounds(config.server, ['server']);
  yield* checkSignIn(config);
  yield* checkTls(config, directory);
}

/** Checks that the stages enforce keys and limits, and in which order. */
function* checkStageAccess(
  { accounts, plans, server }: CheckedConfig,
  stages: readonly ListedStage[],
  given: GivenPlugins,
): Generator<ConfigIssue> {
  // Of a stage with wrong options it is not known whether it authenticates; nothing is reported for that.
  const access = stages.map(({ name, plan }) => ({
    name,
    authenticates: plan?.authenticates ?? (name === 'auth' || !server.open),
  }));
  yield* checkAccess(
    { stages: access, accounts, plans, open: server.open, accountOf: given.accountOf !== undefined },
    { path: ['server', 'open'], written: 'server: { open: true }', mayBeInner: false },
  );
  for (const [stage, own] of Object.entries({ auth: 'accounts', 'rate-limit': 'plans' })) {
    const at = stages.findIndex(({ name }) => name === stage);
    if (stages[at]?.options[own] !== undefined)
      yield { path: ['stages', at, stage, own], message: `belongs to ${own}, at the top level` };
  }
}

/** An issue of the stages at the place of the option `stages`. */
const inOptions = (issue: ConfigIssue): ConfigIssue =>
  issue.path[0] === 'stages' ? { ...issue, path: ['options', ...issue.path] } : issue;

function writtenAddress(value: Json): Settings['isWritten'] {
  const { host, port } = asObject(value.server);
  return { host: host !== undefined, port: port !== undefined };
}

/** The sections of a checked configuration as a gateway needs them, with absolute paths, and the warnings about them. */
function sectionsOf(
  config: CheckedConfig,
  directory: string,
  { adapters, stages }: LoadedPlugins,
  given: GivenPlugins,
) {
  const providers = Object.entries(config.providers).map(([name, written]) =>
    providerOf(name, written, directory, adapters),
  );
  const extra = new Map(providers.map(({ name, config: { extra_parameters } }) => [name, extra_parameters]));
  const models = config.models.map(model => ({
    ...model,
    extra_parameters: [...new Set(model.upstreams.flatMap(({ provider }) => extra.get(provider) ?? []))],
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
  return { ...config, server, admin, models, providers, warnings };
}

/** What makes the plugins; a mistake of one has the place where it is named. */
function makersOf(
  error: ExpandedPart['error'],
  { dialects }: LoadedPlugins,
  given: GivenPlugins,
): Settings['made'] {
  const stages = given.stages ? ['options', 'stages'] : ['stages'];
  const dialectPath = (at: number) => dialects[at - builtInDialects.length]?.path ?? [];
  return {
    stage: (at, make) => madeAt(error, [...stages, at], make),
    dialect: (at, make) => madeAt(error, dialectPath(at), make),
    adapter: (provider, make) => madeAt(error, ['providers', provider, 'adapter'], make),
  };
}
