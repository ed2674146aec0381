import {
  accountsAbove,
  type ExtensionContext,
  type Limit,
  limitsOf,
  type NewNotice,
  type NoLimits,
  type NoticeRecords,
  rootOf,
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
    const { clock, state } = this.#context;
    if (state.outage) return 0;
    const now_ms = clock.epoch_ms();
    this.#forget(now_ms);
    const reached = new Set<string>();
    const taken = this.active.take(accounts_at_once);
    let added = 0;
    try {
      for (const { id, root, limits, active } of await this.#limited(taken)) {
        const statuses = await state.statuses(root, limits);
        for (const crossing of crossingsOf(root, statuses, { ...active, thresholds, now_ms })) {
          if (this.#told.has(crossing.key)) continue;
          if (this.#reached.has(crossing.key)) added += await this.#tell(crossing);
          else {
            reached.add(crossing.key);
            this.#lookAgain(id, active);
          }
        }
      }
    } catch (thrown) {
      for (const [id, active] of taken) this.#lookAgain(id, active);
      throw thrown;
    }
    this.#reached = reached;
    return added;
  }

  #lookAgain(account: string, { keys, refusing }: ActiveAccount): void {
    this.active.add(account);
    for (const key of keys) this.active.add(account, key);
    for (const label of refusing) this.active.add(account, undefined, label);
  }

  async #tell(crossing: Crossing): Promise<number> {
    const created_ms = this.#context.clock.epoch_ms();
    const notice: NewNotice = {
      id: timeOrderedUuid(created_ms),
      key: crossing.key,
      subject: `account:${crossing.account}`,
      type: 'limit.threshold_reached',
      data: crossingData(crossing),
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

  /** The accounts that have limits, with those of their keys and of the accounts above them. */
  async #limited(active: ReadonlyMap<string, ActiveAccount>): Promise<LimitedAccount[]> {
    const { settings, configured, application, records } = this.#context;
    const elsewhere = [...active.keys()].filter(id => !configured.findById(id));
    const keyIds = [...active.values()].flatMap(({ keys }) => [...keys]);
    const [stored, keys] = await Promise.all([
      elsewhere.length === 0 ? [] : records.store.accounts.lookUp(elsewhere),
      keyIds.length === 0 ? [] : records.store.keys.named(keyIds),
    ]);
    const accounts = new Map(stored.map(account => [account.id, account]));
    const limitsOfKeys = new Map(keys.map(key => [key.id, key.limits]));
    const above = new Map<string, ReturnType<typeof accountsAbove>>();
    const found: LimitedAccount[] = [];
    for (const [id, used] of active) {
      const { parent } = accounts.get(id) ?? {};
      if (parent != null && !above.has(parent)) above.set(parent, accountsAbove(this.#context, parent));
      const parents = parent == null ? undefined : await above.get(parent);
      const account = configured.findById(id) ?? accounts.get(id) ?? application?.lastGiven(id) ?? { id };
      const whole = { ...account, ...(parents && { parents }) };
      const ofKeys = [...used.keys].flatMap(key_id =>
        listed(limitsOf(settings, { ...whole, key_id, key_limits: limitsOfKeys.get(key_id) })).filter(
          ({ key }) => key === key_id,
        ),
      );
      const limits = [...listed(limitsOf(settings, whole)), ...ofKeys];
      if (limits.length > 0) found.push({ id, root: rootOf(whole), limits, active: used });
    }
    return found;
  }
}

/** An account in use, with all limits under which its requests count, in the bucket of `root`. */
interface LimitedAccount {
  readonly id: string;
  readonly root: string;
  readonly limits: readonly Limit[];
  readonly active: ActiveAccount;
}

const listed = (limits: readonly Limit[] | NoLimits): readonly Limit[] =>
  typeof limits === 'string' ? [] : limits;
