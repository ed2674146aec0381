import { resolve } from 'node:path';
import { builtInProviders } from '../../plugins/index.ts';
import { noSuchName } from '../diagnostics/suggestion.ts';
import { asObject } from '../json-object.ts';
import type { ProviderDefinition } from '../upstream/adapter.ts';
import { type ProviderConfig, providerBaseSchema } from '../upstream/http/provider-schema.ts';
import { checkPart } from './checked-part.ts';
import type { Environment } from './environment.ts';
import { checkProviderKeys } from './provider-keys.ts';
import { readConfig } from './read-config.ts';
import { type CheckedConfig, providerSchema } from './schema.ts';

export interface ProviderSettings {
  readonly name: string;
  readonly definition: ProviderDefinition;
  readonly config: ProviderConfig;
  /** The adapter's own options. */
  readonly options: unknown;
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

/**
 * One provider of a configuration file whose other parts may still be missing or wrong: what a new configuration begins with. Throws a
 * ConfigError.
 */
export function loadProvider(
  file: string,
  name: string,
  environment: Environment = process.env,
): ProviderSettings {
  const written = readConfig(file);
  const { directory } = written;
  const named = asObject(asObject(written.value).providers);
  if (!Object.hasOwn(named, name))
    throw written.error([{ path: ['providers'], message: noSuchName('provider', name, Object.keys(named)) }]);
  const part = checkPart(providerSchema, named[name], environment, ['providers', name]);
  part.report(checkProviderKeys({ providers: { [name]: part.value } }, directory));
  if (part.issues.length > 0 || !part.data) throw written.error(part.issues);
  return providerOf(name, part.data, directory);
}
