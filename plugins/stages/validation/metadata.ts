import { invalidField, shown } from '../../../src/plugin.ts';

const max_keys = 16;
const max_key_characters = 64;
const max_value_characters = 512;

/** Counts characters as code points, not UTF-16 units. */
function isLonger(text: string, max_characters: number): boolean {
  let characters = 0;
  for (const _ of text) if (++characters > max_characters) return true;
  return false;
}

/** Checks the limits: 16 keys of 64 characters, values that are strings of at most 512 characters. */
export function checkMetadata(metadata: Record<string, unknown>): void {
  const keys = Object.keys(metadata);
  if (keys.length > max_keys) {
    throw invalidField('metadata', `must have at most ${max_keys} keys, not ${keys.length}.`);
  }
  for (const key of keys) {
    const value = metadata[key];
    const shownKey = key.length > 32 ? `${key.slice(0, 32)}…` : key;
    if (key.length > max_key_characters && isLonger(key, max_key_characters)) {
      throw invalidField(
        'metadata',
        `the key '${shownKey}' is longer than ${max_key_characters} characters.`,
      );
    }
    if (typeof value !== 'string') {
      throw invalidField(`metadata.${shownKey}`, `must be a string, not ${shown(value)}.`);
    }
    if (value.length > max_value_characters && isLonger(value, max_value_characters)) {
      throw invalidField(`metadata.${shownKey}`, `must have at most ${max_value_characters} characters.`);
    }
  }
}
