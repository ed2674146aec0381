import type { Outage } from '../../common/outage.ts';
import { type Account, type AccountDirectory, unusableAccount } from '../../gateway/accounts/accounts.ts';
import { refusal } from '../../gateway/exchange/errors.ts';
import { type KeyLimits, keyLimitsSchema, limitOverridesSchema } from '../../gateway/limits/plan-limits.ts';
import type { AccountRecords } from '../../records/account-records.ts';
import { type AccountRecord, isAccountName } from '../../records/account-records.ts';
import { idsAbove, max_parents } from '../../records/account-tree.ts';
import type { ChangeFeed, Changes } from '../../records/change-feed.ts';
import { listsOf, modelListSchema } from '../../records/configured-accounts.ts';
import type { FoundKey, KeyRecords } from '../../records/key-records.ts';
import { hashKey, isStoredKeyForm } from '../../records/key-secret.ts';
import type { Surroundings } from '../../telemetry/surroundings.ts';
import { CachedLookups } from './cached-lookups.ts';
import { KeyUses } from './key-uses.ts';
import { StoreSync } from './store-sync.ts';

/** A key that may be used, once its account is enabled. */
interface Known extends KnownAccount {
  readonly account: Account & { readonly key_id: string };
  readonly expires_ms: number;
}

interface KnownAccount {
  readonly account: Account;
  readonly isDisabled: boolean;
}

type StoredAccount = NonNullable<FoundKey['stored']>;

/** A row, and by their ids those of the accounts of the store that are above its account. */
interface Placed<T> {
  readonly row: T;
  readonly above: ReadonlyMap<string, StoredAccount>;
}

export interface StoredKeysSetup extends Omit<Surroundings, 'metrics'> {
  readonly keys: Pick<KeyRecords, 'lookUp' | 'used'>;
  readonly accounts: Pick<AccountRecords, 'lookUp'>;
  readonly changes: Pick<ChangeFeed, 'since'>;
  /** Interval of polling for changes. */
  readonly sync_ms?: number | undefined;
  /** Told all controls of providers when they may have changed. */
  readonly onControls?: (controls: NonNullable<Changes['controls']>) => void;
  /** The configured account with this id, which takes precedence over one of the store. */
  readonly configured: (id: string) => Account | undefined;
  /** Time for which known keys and accounts continue to work while the store is unavailable. */
  readonly key_cache_ttl_ms: number;
}

/** Throws `permission_error` for an account that is disabled. */
function enabled<A extends Account>({ account, isDisabled }: KnownAccount & { readonly account: A }): A {
  if (isDisabled) throw refusal('account_disabled', { cause: `account '${account.id}' is disabled` });
  return account;
}

/** Throws `configuration_error` for invalid limits and models: ignoring them would admit more than intended. */
function storedAccount(
  id: string,
  { plan, limits, models }: StoredAccount,
  parents: readonly Account[],
): Account {
  const checked = limitOverridesSchema.safeParse(limits);
  if (!checked.success) throw unusableAccount(`the stored limits of account '${id}'`, checked.error);
  return {
    id,
    plan: plan ?? undefined,
    limits: checked.data,
    ...(parents.length > 0 && { parents }),
    ...listsOf(checkedModels(models, `account '${id}'`), parents[0]),
  };
}

function checkedModels(models: readonly string[] | null, whose: string): readonly string[] | null {
  const checked = modelListSchema.nullable().safeParse(models);
  if (!checked.success) throw unusableAccount(`the stored models of ${whose}`, checked.error);
  return checked.data;
}

/** The same of the limits of a key; undefined if it has none. */
function keyLimits({ id, limits }: FoundKey): KeyLimits | undefined {
  const checked = keyLimitsSchema.safeParse(limits);
  if (!checked.success) throw unusableAccount(`the stored limits of key '${id}'`, checked.error);
  return Object.keys(checked.data).length === 0 ? undefined : checked.data;
}

/**
 * The keys and accounts of the records store. What was looked up is cached until the change feed, polled twice a second, names it:
 * revoked keys and changed plans reach every instance within that and one answer of the store. While the store is down, keys and accounts
 * that are known go on working for `key_cache_ttl_ms`, and others are refused with `server_error`, never as unknown.
 */
export class StoredKeys implements AccountDirectory {
  readonly #setup: StoredKeysSetup;
  readonly #uses: KeyUses;
  readonly #sync: StoreSync;
  readonly #keys: CachedLookups<Placed<FoundKey>, Known>;
  readonly #accounts: CachedLookups<Placed<AccountRecord>, KnownAccount>;
  /** Whether there are keys of any form, so that all are looked up; undefined until that is known. */
  #hasImported: boolean | undefined;
  /** As of the last change that was polled. */
  #disabled: ReadonlySet<string> = new Set();

  constructor(setup: StoredKeysSetup) {
    const { keys, accounts, changes, clock, log, key_cache_ttl_ms: ttl_ms } = setup;
    this.#setup = setup;
    this.#uses = new KeyUses(keys, log);
    const onChange = (changed: Changes['of'], { disabled, has_imported }: Omit<Changes, 'change' | 'of'>) => {
      this.#forget(changed);
      if (disabled) this.#disabled = new Set(disabled);
      this.#hasImported = has_imported ?? this.#hasImported ?? false;
    };
    this.#sync = new StoreSync(changes, clock, log, onChange, setup.onControls, setup.sync_ms);
    const age_ms = () => this.#sync.age_ms;
    this.#keys = new CachedLookups({
      lookUp: async digests => {
        const found = await keys.lookUp(digests);
        const above = await this.#above(found.map(({ stored }) => stored?.parent));
        return inOrder(digests, found, ({ digest }) => digest, above);
      },
      knownOf: (_, found) => this.#knownOf(found),
      age_ms,
      ttl_ms,
      clock,
    });
    this.#accounts = new CachedLookups({
      lookUp: async ids => {
        const found = await accounts.lookUp(ids);
        return inOrder(ids, found, ({ id }) => id, await this.#above(found.map(({ parent }) => parent)));
      },
      knownOf: (id, found) => this.#accountOf(id, found.row, found.above),
      age_ms,
      ttl_ms,
      clock,
    });
  }

  /**
   * Finds the account of a key, synchronously if it is cached. Rejects with `server_error` if it cannot be looked up. Throws
   * `permission_error`, or rejects with it, if the account is disabled.
   */
  find(key: string, digest = hashKey(key)): Account | undefined | Promise<Account | undefined> {
    if (this.#hasImported === false && !isStoredKeyForm(key)) return undefined;
    const known = this.#keys.find(digest);
    return known instanceof Promise ? known.then(found => this.#admitted(found)) : this.#admitted(known);
  }

  /** The same of an account by its id. */
  findById(id: string): Account | undefined | Promise<Account | undefined> {
    if (!isAccountName(id)) return undefined;
    const known = this.#accounts.find(id);
    return known instanceof Promise ? known.then(found => found && enabled(found)) : known && enabled(known);
  }

  /** Whether the store has an account of this id that is disabled, as far as it is known without asking. */
  isDisabled(id: string): boolean {
    return this.#disabled.has(id);
  }

  /** Set while the store is unavailable. */
  get outage(): Outage | undefined {
    return this.#sync.outage;
  }

  /** Starts polling for changes. Resolves at the end of the first poll. */
  start(): Promise<void> {
    return this.#sync.start();
  }

  /** Applies changes of the store now instead of at the next poll. */
  refresh(): Promise<void> {
    return this.#sync.refresh();
  }

  /** Looks keys up again whose accounts the configuration had, or has now. */
  configuredAnew(accounts: ReadonlySet<string>): void {
    if (accounts.size === 0) return;
    this.#keys.forget([], isOneOf(accounts));
    this.#accounts.forget([], isOneOf(accounts));
    // Keys of accounts that have just come were unknown.
    this.#keys.forgetUnknown();
  }

  /** Writes the last uses. */
  async close(): Promise<void> {
    this.#sync.stop();
    await this.#uses.close();
  }

  /** The rows above accounts, by the ids of their parents, that the configuration has no account for: one more query for each step up. */
  async #above(parents: readonly (string | null | undefined)[]): Promise<ReadonlyMap<string, StoredAccount>> {
    const above = new Map<string, StoredAccount>();
    let next = parents;
    for (let step = 0; step < max_parents; step++) {
      const isAsked = (id: string) => !above.has(id) && !this.#setup.configured(id);
      const asked = [...new Set(next)].filter(id => id != null && isAsked(id)) as string[];
      if (asked.length === 0) break;
      const found = await this.#setup.accounts.lookUp(asked);
      for (const row of found) above.set(row.id, row);
      next = found.map(({ parent }) => parent);
    }
    return above;
  }

  /**
   * An account with those above it; it is disabled if one of them is. Throws `configuration_error` where one of them is missing, or there are too
   * many: admitting it would ignore their limits.
   */
  #accountOf(id: string, row: StoredAccount, above: Placed<unknown>['above']): KnownAccount {
    const { configured } = this.#setup;
    const rowOf = (name: string) => (name === id ? row : above.get(name));
    const parentOf = (name: string) =>
      (name === id ? undefined : configured(name)?.parents?.[0]?.id) ?? rowOf(name)?.parent;
    let ids: readonly string[];
    try {
      ids = idsAbove(id, parentOf);
    } catch (thrown) {
      throw unusableAccount((thrown as Error).message, thrown);
    }
    const parents: Account[] = [];
    for (const name of ids.toReversed()) {
      const stored = above.get(name);
      const parent = configured(name) ?? (stored && storedAccount(name, stored, [...parents]));
      if (!parent)
        throw unusableAccount(
          `account '${id}' is below the account '${name}', which is neither configured nor stored`,
        );
      parents.unshift(parent);
    }
    const account = storedAccount(id, row, parents);
    const rows = [row, ...ids.flatMap(name => (configured(name) ? [] : (above.get(name) ?? [])))];
    return { account: Object.freeze(account), isDisabled: rows.some(each => each.disabled_ms !== null) };
  }

  #knownOf({ row: found, above }: Placed<FoundKey>): Known | undefined {
    const { id, account, expires_ms, revoked_ms, stored } = found;
    if (revoked_ms !== null) return undefined;
    const configured = this.#setup.configured(account);
    const owner = configured
      ? { account: configured, isDisabled: false }
      : stored && this.#accountOf(account, stored, above);
    if (!owner) {
      this.#setup.log.warn(
        { key_id: id, account },
        'a key is refused: its account is neither configured nor stored',
      );
      return undefined;
    }
    const key_limits = keyLimits(found);
    return {
      account: Object.freeze({
        ...owner.account,
        key_id: id,
        ...(key_limits && { key_limits }),
        ...listsOf(checkedModels(found.models, `key '${id}'`), owner.account),
      }),
      isDisabled: owner.isDisabled,
      expires_ms: expires_ms ?? Number.POSITIVE_INFINITY,
    };
  }

  #admitted(known: Known | undefined): Account | undefined {
    if (!known) return undefined;
    const now_ms = this.#setup.clock.epoch_ms();
    if (now_ms >= known.expires_ms) return undefined;
    const account = enabled(known);
    this.#uses.note(account.key_id, now_ms);
    return account;
  }

  #forget(changes: Changes['of']): void {
    if (changes === 'all') {
      this.#keys.forget('all');
      this.#accounts.forget('all');
      return;
    }
    const isChanged = isOneOf(new Set(changes.accounts));
    this.#keys.forget(changes.digests, isChanged);
    this.#accounts.forget(changes.accounts, isChanged);
  }
}

/** Whether an account, or one above it, is one of these. */
const isOneOf =
  (ids: ReadonlySet<string>) =>
  ({ account: { id, parents } }: KnownAccount): boolean =>
    ids.has(id) || parents?.some(parent => ids.has(parent.id)) === true;

/** The records of `names`, in their order. */
function inOrder<T>(
  names: readonly string[],
  found: readonly T[],
  nameOf: (record: T) => string,
  above: Placed<T>['above'],
): readonly (Placed<T> | undefined)[] {
  const byName = new Map(found.map(row => [nameOf(row), { row, above }]));
  return names.map(name => byName.get(name));
}
