import { RecordRefused } from './record-errors.ts';

/** The longest way up: from an account to its team, and from that to its organisation. */
export const max_parents = 2;

/**
 * The accounts above one, the nearest first. Throws RecordRefused for one that would be above itself, and for more than two, of which the
 * message names the account.
 */
export function idsAbove(id: string, parentOf: (id: string) => string | null | undefined): string[] {
  const above: string[] = [];
  for (let parent = parentOf(id); parent != null; parent = parentOf(parent)) {
    if (parent === id || above.includes(parent))
      throw new RecordRefused(
        `the account '${id}' would be above itself: ${[id, ...above, parent].join(' → ')}`,
        'parent',
      );
    if (above.length === max_parents)
      throw new RecordRefused(
        `the account '${id}' would have more than ${max_parents} accounts above it: ${[id, ...above, parent].join(' → ')}`,
        'parent',
      );
    above.push(parent);
  }
  return above;
}
