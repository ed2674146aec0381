import QuickLRU from 'quick-lru';
import { refusal } from '../../errors.ts';
import { limitOverridesSchema } from '../limits/plan-limits.ts';
import type { ChangeFeed, Changes } from '../records/change-feed.ts';
import type { FoundKey, KeyRecords } from '../records/key-records.ts';
import { isStoredKeyForm } from '../records/key-secret.ts';
import type { Outage } from '../records/outage.ts';
import type { Surroundings } from '../records/surroundings.ts';
import { type Account, unusableAccount } from './accounts.ts';
import { BatchedLookups } from './batched-lookups.ts';
import { hashKey } from './hash-key.ts';
import { KeyUses } from './key-uses.ts';
import { StoreSync } from './store-sync.ts';

/** About 300 bytes each. A cache of `maxSize` n holds at most 2n entries: the n used last, and up to n before them. */
const known_keys = { maxSize: 25_000 };
const unknown_keys = { maxSize: 5_000 };
/** Time without an answer to a poll after which an unknown key may have been created. */
const current_ms = 5000;
/** Time for which an unknown key is refused without asking again; a new key is noticed sooner. */
const unknown_ms = 30_000;

/** A key that may be used. */
interface Known {
  readonly account: Account & { readonly key_id: string };
  readonly expires_ms: number;
}

export interface StoredKeysSetup extends Omit<Surroundings, 'metrics'> {
  readonly keys: Pick<KeyRecords, 'lookUp' | 'used'>;
  readonly changes: Pick<ChangeFeed, 'since'>;
  /** The configured account with this id, which takes precedence over one of the store. */
  readonly configured: (id: string) => Account | undefined;
  /** Time for which known keys continue to work while the store is unavailable. */
  readonly key_cache_ttl_ms: number;
}

/** Throws `configuration_error` for invalid limits: ignoring them would admit more than intended. */
function storedAccount(id: string, { plan, limits }: NonNullable<FoundKey['stored']>): Account {
  const checked = limitOverridesSchema.safeParse(limits);
  if (!checked.success) throw unusableAccount(`the stored limits of account '${id}'`, checked.error);
  return { id, plan: plan ?? undefined, limits: checked.data };
}

/**
 * The keys of the records store. Keys that were looked up are cached until the change feed, polled every two seconds, names
 * them: revoked keys and changed plans reach every instance within that and one answer of the store. While the store is out,
 * keys that are known go on working for `key_cache_ttl_ms`, and others are refused with `server_error`, never as unknown.
 */
export class StoredKeys {
  readonly #setup: StoredKeysSetup;
  readonly #lookups: BatchedLookups<FoundKey | undefined>;
  readonly #uses: KeyUses;
  readonly #sync: StoreSync;
  /** Number of times that changes of the store were applied. */
  #changes = 0;
  readonly #known = new QuickLRU<string, Known>(known_keys);
  /** Unknown keys, and when that was found out. */
  readonly #unknown = new QuickLRU<string, number>(unknown_keys);

  constructor(setup: StoredKeysSetup) {
    this.#setup = setup;
    this.#lookups = new BatchedLookups(async digests => {
      const found = await setup.keys.lookUp(digests);
      const byDigest = new Map(found.map(key => [key.digest, key]));
      return digests.map(digest => byDigest.get(digest));
    });
    this.#uses = new KeyUses(setup.keys, setup.log);
    this.#sync = new StoreSync(setup.changes, setup.clock, setup.log, changes => this.#forget(changes));
  }

  /** Finds a key, synchronously if it is cached. Throws `server_error` if it cannot be looked up. */
  find(key: string, digest = hashKey(key)): Account | undefined | Promise<Account | undefined> {
    if (!isStoredKeyForm(key)) return undefined;
    const age_ms = this.#sync.age_ms;
    if (age_ms <= this.#setup.key_cache_ttl_ms) {
      const known = this.#known.get(digest);
      if (known) return this.#admitted(known);
    }
    const asked_ms = this.#unknown.get(digest);
    if (asked_ms !== undefined && age_ms <= current_ms && this.#now_ms() - asked_ms < unknown_ms)
      return undefined;
    return this.#lookUp(digest);
  }

  /** Set while the store is unavailable. */
  get outage(): Outage | undefined {
    return this.#sync.outage;
  }

  /** Starts polling for changes. */
  start(): void {
    this.#sync.start();
  }

  /** Applies changes of the store now instead of at the next poll. */
  refresh(): Promise<void> {
    return this.#sync.refresh();
  }

  /** Writes the last uses. */
  async close(): Promise<void> {
    this.#sync.stop();
    await this.#uses.close();
  }

  async #lookUp(digest: string): Promise<Account | undefined> {
    const changes = this.#changes;
    const found = await this.#lookups.find(digest).catch((cause): never => {
      throw refusal('server_error', { cause });
    });
    const known = found && this.#knownOf(found);
    // Changes applied meanwhile may be newer than this answer.
    if (this.#changes === changes) {
      if (known) this.#known.set(digest, known);
      else this.#unknown.set(digest, this.#now_ms());
    }
    return known && this.#admitted(known);
  }

  #knownOf({ id, account, expires_ms, revoked_ms, stored }: FoundKey): Known | undefined {
    if (revoked_ms !== null) return undefined;
    const owner = this.#setup.configured(account) ?? (stored && storedAccount(account, stored));
    if (!owner) {
      this.#setup.log.warn(
        { key_id: id, account },
        'a key is refused: its account is neither configured nor stored',
      );
      return undefined;
    }
    return {
      account: Object.freeze({ ...owner, key_id: id }),
      expires_ms: expires_ms ?? Number.POSITIVE_INFINITY,
    };
  }

  #admitted({ account, expires_ms }: Known): Account | undefined {
    const now_ms = this.#setup.clock.epoch_ms();
    if (now_ms >= expires_ms) return undefined;
    this.#uses.note(account.key_id, now_ms);
    return account;
  }

  #forget(changes: Changes['of']): void {
    this.#changes++;
    if (changes === 'all') {
      this.#known.clear();
      this.#unknown.clear();
      return;
    }
    for (const digest of changes.digests) {
      this.#known.delete(digest);
      this.#unknown.delete(digest);
    }
    const accounts = new Set(changes.accounts);
    for (const [digest, { account }] of this.#known) if (accounts.has(account.id)) this.#known.delete(digest);
  }

  #now_ms(): number {
    return this.#setup.clock.elapsed_ms();
  }
}
