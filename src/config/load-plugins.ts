import type { z } from 'zod';
import type { ConfigIssue } from '../common/config-error.ts';
import { asObject, type Json } from '../common/json-object.ts';
import { type DialectDefinition, isDialectDefinition } from '../gateway/dialects/define-dialect.ts';
import { type ExtensionDefinition, isExtensionDefinition } from '../records/define-extension.ts';
import { builtInDialects, sectionsOf } from './built-in-dialects.ts';
import { configurableExtensions } from './built-in-extensions.ts';
import type { GivenPlugins } from './given-plugins.ts';
import {
  default_load_ms,
  loadLists,
  type PluginEntry,
  type PluginKind,
  type PluginList,
  pluginMistake,
  pluginsIn,
} from './import-plugin.ts';
import { type Adapters, loadGivenAdapters, loadNamedAdapters } from './load-adapters.ts';
import { type ListedStage, loadStages } from './load-stages.ts';
import { loadStores, type Stores } from './load-stores.ts';
import { configSchema, configSchemaOf } from './schema.ts';

/** The plugins of a configuration, as far as they can be loaded. */
export interface LoadedPlugins {
  readonly adapters: Adapters;
  /** Those beside the built-in ones, each once, with where they are listed. */
  readonly dialects: readonly PluginEntry<DialectDefinition>[];
  readonly extensions: readonly ExtensionDefinition[];
  readonly stores: Stores;
  readonly stages: readonly ListedStage[];
  /** Mistakes of stages and of stores, which are told behind those of the schema. */
  readonly ofStages: readonly ConfigIssue[];
  readonly ofStores: readonly ConfigIssue[];
  /** The configuration with the options of these plugins. */
  readonly schema: typeof configSchema;
}

/** Loads the plugins that a configuration in `directory` names, and those that are given in code. Other mistakes are added to `issues`. */
export async function loadPlugins(
  value: Json,
  given: GivenPlugins,
  directory: string,
  issues: ConfigIssue[],
): Promise<LoadedPlugins> {
  const { load_ms = default_load_ms } = given;
  const beside = { directory, load_ms };
  const inCode = { directory: process.cwd(), load_ms };
  const listsOf = (written: unknown, path: string[], entries: unknown): PluginList[] => [
    { entries: written, path, place: beside },
    { entries, path: ['options', path[0]!], place: inCode },
  ];
  const ofStores: ConfigIssue[] = [];
  const ofStages: ConfigIssue[] = [];
  const known = await loadGivenAdapters(given.adapters ?? [], inCode, issues);
  const adapters = await loadNamedAdapters(known, value.providers, beside, issues);
  const dialects = await loadDialects(listsOf(value.dialects, ['dialects'], given.dialects), issues);
  const sections = sectionsOf(pluginsIn(dialects));
  const extensions = await loadExtensions(
    listsOf(value.extensions, ['extensions'], given.extensions),
    pluginsIn(dialects),
    issues,
  );
  const written = asObject(value.stores).plugins;
  const stores = await loadStores(listsOf(written, ['stores', 'plugins'], given.stores), ofStores);
  const stages = given.stages
    ? await loadStages(given.stages, inCode, ofStages)
    : await loadStages(value.stages, beside, ofStages);
  const own = configSchemaOf(adapters, { ...extensionSections(extensions), ...sections });
  // Where a dialect cannot be used its section may be there, under any name.
  const isComplete = dialects.every(({ plugin }) => plugin);
  const schema = isComplete ? own : (own.loose() as unknown as typeof configSchema);
  return { adapters, dialects, extensions, stores, stages, ofStages, ofStores, schema };
}

const dialectKind: PluginKind<DialectDefinition> = {
  what: 'a dialect',
  maker: 'defineDialect',
  is: isDialectDefinition,
};

/** Names of endpoints that are of no dialect. */
const other_endpoints = ['passthrough', 'unknown'];

async function loadDialects(lists: readonly PluginList[], issues: ConfigIssue[]) {
  const entries = await loadLists(dialectKind, lists, issues, (dialect, before) =>
    expectFreeDialect(
      dialect,
      [...builtInDialects, ...before].filter(other => other !== dialect),
    ),
  );
  const plugins = entries.map(({ plugin }) => plugin);
  return entries.filter(({ plugin }, at) => !plugin || plugins.indexOf(plugin) === at);
}

/** Throws a ConfigError if something of `dialect` is taken by one of `others` or by the configuration. */
function expectFreeDialect(dialect: DialectDefinition, others: readonly DialectDefinition[]): void {
  const { name, section, schema, paths } = dialect;
  if (other_endpoints.includes(name) || others.some(other => other.name === name))
    throw pluginMistake(`the name ${name} is taken by another endpoint; give this dialect another name`);
  for (const path of Object.keys(paths)) {
    const owner = others.find(other => Object.hasOwn(other.paths, path));
    if (!owner) continue;
    const isOwn = builtInDialects.some(({ name }) => name === owner.name);
    const by = isOwn ? 'the gateway itself' : 'another dialect';
    throw pluginMistake(`its path ${path} is taken by ${by}; give it another path`);
  }
  // Dialects that belong together share a section, by the same schema.
  const strangers = others.filter(other => other.schema !== schema);
  const sections = { ...configSchema.shape, ...sectionsOf(strangers) };
  if (section !== undefined && Object.hasOwn(sections, section)) throw sectionTaken(section);
}

const sectionTaken = (section: string) =>
  pluginMistake(`its section ${section} is taken in the configuration; give it another name`);

/** The extensions that every gateway has, unless their folder is gone. They load their pages when they are asked for. */
const builtInExtensions: readonly (() => Promise<ExtensionDefinition>)[] = [
  async () => (await import('../../plugins/dashboard/index.ts')).dashboard,
  async () => (await import('../../plugins/responses-websocket/index.ts')).responsesWebSocket,
  async () => (await import('../../plugins/notices/index.ts')).notices,
];

/** What the admin listener has by itself. */
const ownPaths: readonly string[] = ['metrics', 'healthz', 'readyz', 'reload'];

const extensionKind: PluginKind<ExtensionDefinition> = {
  what: 'an extension',
  maker: 'defineExtension',
  is: isExtensionDefinition,
};

/** Loads the built-in extensions and those of `lists`, which may share the section of one of `dialects` by the same schema. */
async function loadExtensions(
  lists: readonly PluginList[],
  dialects: readonly DialectDefinition[],
  issues: ConfigIssue[],
): Promise<ExtensionDefinition[]> {
  const builtIn = [...configurableExtensions];
  for (const load of builtInExtensions)
    await load().then(
      extension => builtIn.push(extension),
      thrown => {
        if (!isAbsent(thrown)) throw thrown;
      },
    );
  const own = await loadLists(extensionKind, lists, issues, ({ name, section, schema }, before) => {
    const strangers = dialects.filter(dialect => dialect.schema !== schema);
    const takenSections = Object.keys({ ...configSchema.shape, ...sectionsOf(strangers) });
    const isOther = [...builtIn, ...before].some(other => other.name === name);
    const by = ownPaths.includes(name) ? 'the admin listener itself' : isOther && 'another extension';
    if (by) throw pluginMistake(`the name ${name} is taken by ${by}; give it another name`);
    if (section !== undefined && takenSections.includes(section)) throw sectionTaken(section);
  });
  return [...builtIn, ...pluginsIn(own)];
}

/** Whether a built-in extension is missing, rather than something that it imports. */
function isAbsent(thrown: unknown): boolean {
  const { code, url } = Object(thrown) as { code?: unknown; url?: unknown };
  return code === 'ERR_MODULE_NOT_FOUND' && /\/plugins\/[^/]+\/index\.[jt]s$/.test(String(url));
}

/** The sections of the configuration with the options of extensions. */
const extensionSections = (extensions: readonly ExtensionDefinition[]): Record<string, z.ZodType> =>
  Object.fromEntries(
    extensions.flatMap(({ section, schema }) =>
      section === undefined ? [] : [[section, schema.prefault({})]],
    ),
  );
