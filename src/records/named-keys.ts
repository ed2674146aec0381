import type { KeyRecords } from './key-records.ts';

/** Keys that are looked up at once. */
const keys_per_query = 1000;

type NamedKey = Awaited<ReturnType<KeyRecords['named']>>[number];

/** What the store has of these ids, by id, however many they are. */
export async function namedKeys(
  keys: Pick<KeyRecords, 'named'>,
  ids: readonly string[],
): Promise<Map<string, NamedKey>> {
  const found = new Map<string, NamedKey>();
  for (let at = 0; at < ids.length; at += keys_per_query)
    for (const key of await keys.named(ids.slice(at, at + keys_per_query))) found.set(key.id, key);
  return found;
}
