import { isObject, jsonSizeOf, type ReasoningDetail } from '../../../src/plugin.ts';

/** Version of the form. */
const prefix = 'slr1.';
/** Characters of an item; signed reasoning of one turn has some ten thousand. */
const max_characters = 1_398_101;
const max_json = { values: 10_000, keys: 10_000 };
/** Values in all items of a request, which no limit of a body counts. */
const max_all_values = 100_000;
const max_levels = 32;

/**
 * Signed reasoning as the `encrypted_content` of an item, which clients send back unchanged; empty details tell that there were none.
 * `undefined` for more than a MiB. Not encrypted: a client may read what its own request has produced.
 */
export function encryptedContentOf(details: readonly ReasoningDetail[]): string | undefined {
  const content = prefix + Buffer.from(JSON.stringify(details)).toString('base64url');
  return content.length > max_characters ? undefined : content;
}

/** Reads `encrypted_content` of the items of one request. */
export class EncryptedReasoning {
  #left_values = max_all_values;

  /** The details in it; `undefined` if it was not made here, or exceeds the limit of a request. */
  detailsIn(content: string): ReasoningDetail[] | undefined {
    if (!content.startsWith(prefix) || content.length > max_characters) return undefined;
    const bytes = Buffer.from(content.slice(prefix.length), 'base64url');
    const { values, keys, levels } = jsonSizeOf(bytes, max_json);
    if (values > max_json.values || keys > max_json.keys || levels > max_levels) return undefined;
    this.#left_values -= values;
    if (this.#left_values < 0) return undefined;
    try {
      const details: unknown = JSON.parse(bytes.toString());
      return Array.isArray(details) && details.every(isDetail) ? details : undefined;
    } catch {
      return undefined;
    }
  }
}

const isDetail = (value: unknown): value is ReasoningDetail =>
  isObject(value) && typeof value.type === 'string';
