import { resolve } from 'node:path';
import type { ConfigIssue } from '../common/config-error.ts';
import { asObject, isObject, type Json } from '../common/json-object.ts';
import type { ProviderConfig } from '../common/options.ts';
import { noSuchName } from '../common/suggestion.ts';
import type { ProviderDefinition } from '../gateway/upstream/adapter.ts';
import { readKeyFile } from '../gateway/upstream/http/key-file.ts';
import { expandPart } from './checked-part.ts';
import type { Environment } from './environment.ts';
import { default_load_ms } from './import-plugin.ts';
import { type Adapters, builtInAdapters, loadNamedAdapters } from './load-adapters.ts';
import { providerBaseSchema } from './provider-schema.ts';
import { readConfig } from './read-config.ts';
import { type CheckedConfig, providerSchemaOf } from './schema.ts';

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
  adapters: Adapters,
): ProviderSettings {
  const definition = adapters.get(given.adapter)!;
  const { api_key_file: file } = given;
  const all: Record<string, unknown> = {
    ...given,
    extra_parameters: [...new Set([...(definition.extra_parameters ?? []), ...given.extra_parameters])],
    ...(file !== undefined && { api_key_file: resolve(directory, file) }),
  };
  const isCommon = (option: string) => Object.hasOwn(providerBaseSchema.shape, option);
  const { common = [], own = [] } = Object.groupBy(Object.entries(all), ([option]) =>
    isCommon(option) ? 'common' : option === 'adapter' ? 'adapter' : 'own',
  );
  return {
    name,
    definition,
    config: Object.fromEntries(common) as unknown as ProviderConfig,
    options: Object.fromEntries(own),
  };
}

/**
 * One provider of a configuration file whose other parts may still be missing or wrong: what a new configuration begins with. Throws a
 * ConfigError.
 */
export async function loadProvider(
  file: string,
  name: string,
  environment: Environment = process.env,
): Promise<ProviderSettings> {
  const written = readConfig(file);
  const { directory } = written;
  const named = asObject(asObject(written.value).providers);
  if (!Object.hasOwn(named, name))
    throw written.error([{ path: ['providers'], message: noSuchName('provider', name, Object.keys(named)) }]);
  const part = expandPart(written, environment, named[name], ['providers', name]);
  const providers = { [name]: part.value };
  const place = { directory, load_ms: default_load_ms };
  const adapters = await loadNamedAdapters(builtInAdapters, providers, place, part.issues);
  const data = part.check(providerSchemaOf(adapters));
  part.report(checkProviderKeys({ providers }, directory));
  if (part.issues.length > 0 || !data) throw part.error(part.issues);
  return providerOf(name, data, directory, adapters);
}

const sources = ['api_key', 'api_keys', 'api_key_file'] as const;

/**
 * Mistakes in where providers have their keys from: more than one source, a file that cannot be used. Also keys and headers that cannot be
 * sent, such as those of a file with two line breaks at its end: every request would fail. Paths start at `directory`.
 */
export function* checkProviderKeys(config: unknown, directory: string): Generator<ConfigIssue> {
  for (const [name, provider] of Object.entries(asObject(asObject(config).providers))) {
    if (!isObject(provider)) continue;
    const given = sources.filter(source => provider[source] !== undefined);
    if (given.length > 1) {
      const message = `only one of ${sources.join(', ')} may be given; there are: ${given.join(', ')}`;
      yield { path: ['providers', name, given[1]!], message };
    }
    yield* unsendable(name, provider);
    const { api_key_file: file } = provider;
    const problem = typeof file === 'string' ? problemOf(resolve(directory, file)) : undefined;
    if (problem !== undefined) yield { path: ['providers', name, 'api_key_file'], message: problem };
  }
}

function* unsendable(name: string, provider: Json): Generator<ConfigIssue> {
  const { adapter, api_key, api_keys, headers } = provider;
  const message = 'has characters that no header can carry, such as a line break';
  const keys: (readonly [PropertyKey[], unknown])[] = Array.isArray(api_keys)
    ? api_keys.map((key, at) => [['api_keys', at], key])
    : [[['api_key'], api_key]];
  // An adapter of one's own may make a header of any text.
  const sent = typeof adapter === 'string' && builtInAdapters.has(adapter) ? keys : [];
  for (const [path, key] of sent)
    if (typeof key === 'string' && /[^\x21-\x7e]/.test(key))
      yield { path: ['providers', name, ...path], message };
  for (const [header, value] of Object.entries(asObject(headers)))
    if (typeof value === 'string' && /[^\t\x20-\x7e\x80-\xff]/.test(value))
      yield { path: ['providers', name, 'headers', header], message };
}

function problemOf(file: string): string | undefined {
  try {
    readKeyFile(file);
    return undefined;
  } catch (thrown) {
    const { code, message } = thrown as NodeJS.ErrnoException;
    return code === undefined ? message : `cannot be read: ${code}`;
  }
}
