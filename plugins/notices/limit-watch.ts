import {
  type ExtensionContext,
  type Limit,
  limitsOf,
  type NewNotice,
  type NoLimits,
  type NoticeRecords,
  timeOrderedUuid,
} from '../../src/plugin.ts';
import { type ActiveAccount, ActiveAccounts } from './active-accounts.ts';
import { type Crossing, crossingData, crossingsOf } from './crossings.ts';

/** Accounts that one look asks for: the rest is asked for at the next one. */
const accounts_at_once = 500;
/** Thresholds that are remembered as told; what is forgotten the store knows. */
const max_told = 50_000;

type Context = Pick<
  ExtensionContext,
  'clock' | 'state' | 'settings' | 'configured' | 'application' | 'log'
> & {
  readonly records: { readonly store: Pick<ExtensionContext['records']['store'], 'accounts' | 'keys'> };
};

/**
 * Watches the limits of accounts that are in use. What running requests have reserved counts as used and may be given back, so a threshold is
 * told when it is still reached at the second look.
 */
export class LimitWatch {
  readonly active = new ActiveAccounts();
  readonly #context: Context;
  readonly #notices: Pick<NoticeRecords, 'add'>;
  /** Keys of thresholds that were reached at the last look. */
  #reached = new Set<string>();
  /** Keys that have been told, and when their windows end. */
  readonly #told = new Map<string, number>();

  constructor(context: Context, notices: Pick<NoticeRecords, 'add'>) {
    this.#context = context;
    this.#notices = notices;
  }

  /** Looks at the accounts that were used since the last look. Returns how many notices it has added. */
  async look(thresholds: readonly number[]): Promise<number> {
    const now_ms = this.#context.clock.epoch_ms();
    this.#forget(now_ms);
    const reached = new Set<string>();
    let added = 0;
    for (const [account, active] of await this.#limitsOf(this.active.take(accounts_at_once))) {
      const statuses = await this.#context.state.statuses(account, active.limits);
      for (const crossing of crossingsOf(account, statuses, { ...active, thresholds, now_ms })) {
        if (this.#told.has(crossing.key)) continue;
        if (this.#reached.has(crossing.key)) added += await this.#tell(account, crossing);
        else {
          reached.add(crossing.key);
          this.#lookAgain(account, active);
        }
      }
    }
    this.#reached = reached;
    return added;
  }

  #lookAgain(account: string, { keys, refusing }: ActiveAccount): void {
    this.active.add(account);
    for (const key of keys) this.active.add(account, key);
    for (const label of refusing) this.active.add(account, undefined, label);
  }

  async #tell(account: string, crossing: Crossing): Promise<number> {
    const created_ms = this.#context.clock.epoch_ms();
    const notice: NewNotice = {
      id: timeOrderedUuid(created_ms),
      key: crossing.key,
      subject: `account:${account}`,
      type: 'limit.threshold_reached',
      data: crossingData(account, crossing),
      created_ms,
    };
    const added = await this.#notices.add(notice);
    this.#told.set(crossing.key, crossing.window_ends_ms);
    return added ? 1 : 0;
  }

  #forget(now_ms: number): void {
    for (const [key, ends_ms] of this.#told)
      if (ends_ms < now_ms || this.#told.size > max_told) this.#told.delete(key);
  }

  /** The accounts with their limits, and those of their keys; without those that have none. */
  async #limitsOf(active: ReadonlyMap<string, ActiveAccount>) {
    const { settings, configured, application, records } = this.#context;
    const ids = [...active.keys()];
    const elsewhere = ids.filter(id => !configured.findById(id));
    const keyIds = [...active.values()].flatMap(({ keys }) => [...keys]);
    const [stored, keys] = await Promise.all([
      elsewhere.length === 0 ? [] : records.store.accounts.lookUp(elsewhere),
      keyIds.length === 0 ? [] : records.store.keys.named(keyIds),
    ]);
    const accounts = new Map(stored.map(account => [account.id, account]));
    const keysOf = new Map(keys.map(key => [key.id, key]));
    return new Map(
      [...active].flatMap(([id, used]) => {
        const account = configured.findById(id) ?? accounts.get(id) ?? application?.lastGiven(id) ?? {};
        const own = listed(limitsOf(settings, account));
        const ofKeys = [...used.keys].flatMap(key =>
          listed(limitsOf(settings, { key_id: key, key_limits: keysOf.get(key)?.limits })).filter(
            limit => limit.key === key,
          ),
        );
        const limits = [...own, ...ofKeys];
        return limits.length === 0 ? [] : [[id, { ...used, limits }] as const];
      }),
    );
  }
}

const listed = (limits: readonly Limit[] | NoLimits): readonly Limit[] =>
  typeof limits === 'string' ? [] : limits;
