import type { ProviderControl } from './provider-controls.ts';

/** What has changed since a number was read. */
export interface Changes {
  /** The number to ask with next time. */
  readonly change: number;
  /** Digests of keys and ids of accounts; `all` when they are too many to name, or the store was replaced by an older one. */
  readonly of: 'all' | { readonly digests: readonly string[]; readonly accounts: readonly string[] };
  /** All accounts that are disabled; left out if none can have been disabled or enabled. */
  readonly disabled?: readonly string[];
  /** Whether the store has keys that were made elsewhere, whose form says nothing; left out if that cannot have changed, or never is so. */
  readonly has_imported?: boolean;
  /** All controls of providers; left out if none can have been set or cleared. */
  readonly controls?: readonly ProviderControl[];
}

/** How instances notice changes by others: every change of a key, account or control has the next number of one counter. */
export interface ChangeFeed {
  /** The changes after number `since`; without it only the present number. */
  since(since: number | undefined): Promise<Changes>;
}
