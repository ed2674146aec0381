import type { ExtensionContext } from './define-extension.ts';
import { accountsAbove, type LimitedAccount } from './limit-states.ts';
import { NotThere } from './record-errors.ts';

/** Where accounts are found. */
type Places = Pick<ExtensionContext, 'configured' | 'records' | 'application' | 'settings'>;

/** An account with what limits it, wherever it is kept; the configuration goes before the store. Rejects with NotThere. */
export async function limitedAccount(
  places: Places,
  id: string,
): Promise<LimitedAccount & { readonly id: string }> {
  const { configured, records, application, settings } = places;
  const found = configured.findById(id) ?? (await records.store.accounts.find(id));
  const account = found ?? application?.lastGiven(id);
  if (!account) throw new NotThere(`there is no account '${id}'`);
  const { plan, limits } = account;
  const parent = 'parent' in account ? account.parent : settings.accounts[id]?.parent;
  return { id, plan, limits, parents: await accountsAbove(places, parent) };
}

/** The account of a key of the store, with the limits of the key. Rejects with NotThere. */
export async function limitedKey(
  places: Places,
  key_id: string,
): Promise<LimitedAccount & { readonly id: string }> {
  const key = await places.records.store.keys.find(key_id);
  if (!key) throw new NotThere(`there is no key '${key_id}'`);
  return { ...(await limitedAccount(places, key.account)), key_id, key_limits: key.limits };
}
