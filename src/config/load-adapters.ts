import { builtInProviders } from '../../plugins/providers.ts';
import type { ConfigIssue } from '../common/config-error.ts';
import { asObject } from '../common/json-object.ts';
import { nearestName } from '../common/suggestion.ts';
import {
  checkedProvider,
  isProviderDefinition,
  type ProviderDefinition,
} from '../gateway/upstream/adapter.ts';
import {
  importPlugin,
  noPackage,
  type PluginKind,
  type PluginPlace,
  package_form,
  pluginMistake,
  reported,
} from './import-plugin.ts';
import { providerBaseSchema } from './provider-schema.ts';

/** The adapters by the name that `providers.*.adapter` gives; undefined for one that cannot be used. */
export type Adapters = ReadonlyMap<string, ProviderDefinition | undefined>;

export const builtInAdapters: Adapters = new Map(builtInProviders.map(adapter => [adapter.name, adapter]));

const adapterKind: PluginKind<ProviderDefinition> = {
  what: 'an adapter',
  maker: 'defineProvider',
  is: isProviderDefinition,
};

/** The built-in adapters and those `given` in code, by name; undefined for one that is refused. Mistakes are added to `issues`. */
export async function loadGivenAdapters(
  given: readonly unknown[],
  place: PluginPlace,
  issues: ConfigIssue[],
): Promise<Adapters> {
  const adapters = new Map(builtInAdapters);
  for (const [at, entry] of given.entries()) {
    const adapter = await reported(['options', 'adapters', at], issues, async () => {
      const found = typeof entry === 'string' ? await importPlugin(adapterKind, entry, place) : entry;
      if (!found) throw pluginMistake(noPackage(entry));
      return usable(found, adapters);
    });
    const name = adapter?.name ?? String(Object(entry).name ?? entry);
    if (adapter || !adapters.has(name)) adapters.set(name, adapter);
  }
  return adapters;
}

/**
 * `known` and the adapters that `providers` name by path or package. Mistakes are added to `issues`; a misspelt name of a known adapter is
 * left to the schema of providers. A name that is not known may be that of a refused adapter, if there is one.
 */
export async function loadNamedAdapters(
  known: Adapters,
  providers: unknown,
  place: PluginPlace,
  issues: ConfigIssue[],
): Promise<Adapters> {
  const adapters = new Map(known);
  const isComplete = [...known.values()].every(adapter => adapter !== undefined);
  for (const [provider, written] of Object.entries(asObject(providers))) {
    const { adapter: name } = asObject(written);
    if (typeof name !== 'string' || name === '' || adapters.has(name)) continue;
    let isMisspelt = false;
    const adapter = await reported(['providers', provider, 'adapter'], issues, async () => {
      const found = await importPlugin(adapterKind, name, place);
      if (found) return usable(found, adapters);
      isMisspelt = !package_form.test(name) || nearestName(name, [...adapters.keys()]) !== undefined;
      if (isMisspelt || !isComplete) return undefined;
      throw pluginMistake(`${noPackage(name)}; known names are: ${[...known.keys()].join(', ')}`);
    });
    if (!isMisspelt) adapters.set(name, adapter);
  }
  return adapters;
}

/** `loaded`, if it can stand beside `adapters`. Throws a ConfigError otherwise. */
function usable(loaded: unknown, adapters: Adapters): ProviderDefinition {
  const definition = checkedProvider(loaded);
  const message = conflict(definition, adapters);
  if (message !== undefined) throw pluginMistake(message);
  return definition;
}

/** A sentence if the name of an adapter is taken, or if one of its options is one that every provider has. */
function conflict(definition: ProviderDefinition, adapters: Adapters): string | undefined {
  const { name, schema } = definition;
  const another = [...adapters.values()].find(other => other?.name === name && other !== definition);
  const kind = another && builtInAdapters.get(name) === another ? 'a built-in adapter' : 'another adapter';
  if (another) return `the name ${name} is taken by ${kind}; give this one another name`;
  const own = Object.keys((schema as unknown as { shape: object }).shape);
  const common = own.find(option => option === 'adapter' || Object.hasOwn(providerBaseSchema.shape, option));
  return common && `its option ${common} is one that every provider has; give it another name`;
}
