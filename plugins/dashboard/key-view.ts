import { AccountLimits, type ExtensionContext, type KeyRecord, keyLimitsSchema } from '../../src/plugin.ts';
import { rateLimitsOf, readUses, type Uses } from './account-view.ts';

/** Current usage of each of a key's own limits, as counted by all instances together. */
export async function usesOfKey(
  context: ExtensionContext,
  { id, account, limits }: KeyRecord,
): Promise<Uses> {
  if (!rateLimitsOf(context)) return 'no stage';
  const checked = keyLimitsSchema.safeParse(limits);
  if (!checked.success) return 'unknown';
  const { all } = new AccountLimits(undefined, undefined, { id, limits: checked.data });
  return all.length === 0 ? 'no limits' : readUses(context, account, all);
}
