import { resolve } from 'node:path';
import type { ConfigIssue } from '../diagnostics/config-error.ts';
import { asObject, isObject } from '../json-object.ts';
import { readKeyFile } from '../upstream/http/key-file.ts';

const sources = ['api_key', 'api_keys', 'api_key_file'] as const;

/** Mistakes in where providers have their keys from: more than one source, a file that cannot be used. Paths start at `directory`. */
export function* checkProviderKeys(config: unknown, directory: string): Generator<ConfigIssue> {
  for (const [name, provider] of Object.entries(asObject(asObject(config).providers))) {
    if (!isObject(provider)) continue;
    const given = sources.filter(source => provider[source] !== undefined);
    if (given.length > 1) {
      const message = `only one of ${sources.join(', ')} may be given; there are: ${given.join(', ')}`;
      yield { path: ['providers', name, given[1]!], message };
    }
    const { api_key_file: file } = provider;
    const problem = typeof file === 'string' ? problemOf(resolve(directory, file)) : undefined;
    if (problem !== undefined) yield { path: ['providers', name, 'api_key_file'], message: problem };
  }
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
