import type { ProviderConfig } from '../../../common/options.ts';
import { readSmallFile } from '../../../common/small-file.ts';

/** Thousands of keys. */
const max_bytes = 1024 * 1024;

/**
 * Reads one key per line; skips empty lines and lines that begin with `#`. Throws if there are no keys, and for what is no regular file: a
 * pipe would be waited for.
 */
export function readKeyFile(file: string): string[] {
  const keys = readSmallFile(file, max_bytes)
    .split(/\r?\n/)
    .map(line => line.trim())
    .filter(line => line !== '' && !line.startsWith('#'));
  if (keys.length === 0) throw new Error('has no keys in it');
  const odd = keys.findIndex(key => !/^[\x21-\x7e]+$/.test(key));
  // Without the key itself, which would be in the log.
  if (odd !== -1) throw new Error(`key number ${odd + 1} has characters that no header can carry`);
  return keys;
}

/** The configured keys of a provider. */
export const keysOf = ({ api_key, api_keys, api_key_file }: ProviderConfig): readonly string[] =>
  api_key_file === undefined
    ? (api_keys ?? (api_key === undefined ? [] : [api_key]))
    : readKeyFile(api_key_file);
