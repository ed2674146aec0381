import { dirname, resolve } from 'node:path';
import { ConfigError, type ConfigIssue, issuesOf } from '../diagnostics/config-error.ts';
import { noSuchName } from '../diagnostics/suggestion.ts';
import { asObject } from '../json-object.ts';
import { expandVariables } from './environment.ts';
import { type ProviderSettings, providerOf } from './load.ts';
import { checkProviderKeys } from './provider-keys.ts';
import { readConfigFile } from './read-file.ts';
import { providerSchema } from './schema.ts';

/**
 * One provider of a configuration file whose other parts may still be missing or wrong: what a new configuration begins with. Throws a
 * ConfigError.
 */
export function loadProvider(
  file: string,
  name: string,
  environment: Readonly<Record<string, string | undefined>> = process.env,
): ProviderSettings {
  const { value, lineOf } = readConfigFile(file);
  const named = asObject(asObject(value).providers);
  if (!Object.hasOwn(named, name)) {
    const message = noSuchName('provider', name, Object.keys(named));
    throw new ConfigError(file, [{ path: ['providers'], message }]);
  }
  const path = ['providers', name];
  const issues: ConfigIssue[] = [];
  const own = expandVariables(named[name], environment, issues, path);
  const parsed = providerSchema.safeParse(own);
  const directory = dirname(resolve(file));
  if (!parsed.success) {
    for (const issue of issuesOf(parsed.error, providerSchema, own))
      issues.push({ ...issue, path: [...path, ...issue.path] });
  }
  issues.push(...checkProviderKeys({ providers: { [name]: own } }, directory));
  if (issues.length > 0 || !parsed.success)
    throw new ConfigError(
      file,
      issues.map(issue => ({ ...issue, line: lineOf(issue.path) })),
    );
  return providerOf(name, parsed.data, directory);
}
