import type { ConfigIssue } from '../common/config-error.ts';
import { asObject, type Json } from '../common/json-object.ts';
import type { GivenPlugins } from './given-plugins.ts';
import { default_load_ms } from './import-plugin.ts';
import { type Adapters, loadGivenAdapters, loadNamedAdapters } from './load-adapters.ts';
import { DialectLoader } from './load-dialects.ts';
import { ExtensionLoader } from './load-extensions.ts';
import { type ListedStage, loadStages } from './load-stages.ts';
import { Stores } from './load-stores.ts';

/** The plugins of a configuration, as far as they can be loaded. */
export interface LoadedPlugins {
  readonly adapters: Adapters;
  readonly dialects: DialectLoader;
  readonly extensions: ExtensionLoader;
  readonly stores: Stores;
  readonly stages: readonly ListedStage[];
  /** Mistakes of stages and of stores, which are told behind those of the schema. */
  readonly ofStages: readonly ConfigIssue[];
  readonly ofStores: readonly ConfigIssue[];
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
  const adapters = await loadNamedAdapters(
    await loadGivenAdapters(given.adapters ?? [], inCode, issues),
    value.providers,
    beside,
    issues,
  );
  const dialects = new DialectLoader(issues);
  await dialects.load(value.dialects, ['dialects'], beside);
  await dialects.load(given.dialects, ['options', 'dialects'], inCode);
  const extensions = new ExtensionLoader(issues);
  await extensions.loadBuiltIn();
  await extensions.load(value.extensions, ['extensions'], beside);
  await extensions.load(given.extensions, ['options', 'extensions'], inCode);
  const ofStores: ConfigIssue[] = [];
  const stores = new Stores(ofStores);
  await stores.load(asObject(value.stores).plugins, ['stores', 'plugins'], beside);
  await stores.load(given.stores, ['options', 'stores'], inCode);
  const ofStages: ConfigIssue[] = [];
  const stages = given.stages
    ? await loadStages(given.stages, inCode, ofStages)
    : await loadStages(value.stages, beside, ofStages);
  return { adapters, dialects, extensions, stores, stages, ofStages, ofStores };
}
