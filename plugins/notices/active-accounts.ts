import { isBatch, isRow, type LedgerEntry } from '../../src/plugin.ts';

/** An account that was used, with the stored keys that were, and the limits that refused requests. */
export interface ActiveAccount {
  readonly keys: Set<string>;
  readonly refusing: Set<string>;
}

/** Accounts that are remembered between two looks; one that is left out is there at its next request. */
const max_accounts = 10_000;
const max_keys = 100;

/** The accounts that have been used since they were last looked at. */
export class ActiveAccounts {
  readonly #accounts = new Map<string, ActiveAccount>();

  /** Notes those of ledger entries. */
  note(entries: readonly LedgerEntry[]): void {
    for (const entry of entries) {
      if (isRow(entry)) this.add(entry.account, entry.key_id, entry.refused_by);
      else if (isBatch(entry)) {
        for (const { account, key_id } of entry.refusals) this.add(account, key_id);
        for (const { account, key_id, refused_by } of entry.samples ?? [])
          this.add(account, key_id, refused_by);
      }
    }
  }

  /** Notes one. */
  add(account: string, key_id?: string | null, refused_by?: string | null): void {
    const known = this.#accounts.get(account);
    if (!known && this.#accounts.size >= max_accounts) return;
    const active = known ?? { keys: new Set<string>(), refusing: new Set<string>() };
    if (!known) this.#accounts.set(account, active);
    if (key_id && active.keys.size < max_keys) active.keys.add(key_id);
    if (refused_by) active.refusing.add(refused_by);
  }

  /** Takes out the first `limit` of them. */
  take(limit: number): Map<string, ActiveAccount> {
    const taken = new Map([...this.#accounts].slice(0, limit));
    for (const account of taken.keys()) this.#accounts.delete(account);
    return taken;
  }
}
