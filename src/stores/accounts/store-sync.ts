import type { Clock } from '../../clock.ts';
import type { Log } from '../../telemetry/log.ts';
import type { ChangeFeed } from '../records/change-feed.ts';
import type { Outage } from '../records/outage.ts';

/** How often the store is asked for changes. */
export const sync_ms = 2000;
/** Without an answer for so long, what is known may have been changed. */
const current_ms = 5000;

/** What is told of changes in the store. */
export interface ChangeListener {
  digests(digests: readonly string[]): void;
  accounts(ids: readonly string[]): void;
  /** Anything may have changed. */
  all(): void;
}

/** Asks the store for changes of keys and accounts, again and again. */
export class StoreSync {
  /** How often changes have been applied. */
  applied = 0;
  /** There while the store does not answer. */
  outage: Outage | undefined;
  readonly #feed: Pick<ChangeFeed, 'since'>;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #listener: ChangeListener;
  #change: number | undefined;
  /** When the last answer was asked for. */
  #synced_ms = Number.NEGATIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;
  #isStopped = false;

  constructor(feed: Pick<ChangeFeed, 'since'>, clock: Clock, log: Log, listener: ChangeListener) {
    this.#feed = feed;
    this.#clock = clock;
    this.#log = log;
    this.#listener = listener;
  }

  /** How long ago everything that is known was as the store has it. */
  get age_ms(): number {
    return this.#clock.elapsed_ms() - this.#synced_ms;
  }

  get isCurrent(): boolean {
    return this.age_ms <= current_ms;
  }

  start(): void {
    void this.#loop();
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
  }

  /** Asks now. Never rejects. */
  async refresh(): Promise<void> {
    const asked_ms = this.#clock.elapsed_ms();
    try {
      const { change, of } = await this.#feed.since(this.#change);
      // What was looked up before the first number was known may have changed before it was read.
      this.#apply(this.#change === undefined ? 'all' : of);
      this.#change = change;
      this.#synced_ms = asked_ms;
      if (this.outage) this.#log.info('the records store answers again');
      this.outage = undefined;
    } catch (fault) {
      if (!this.outage)
        this.#log.error(
          { err: fault },
          'the records store is out: keys that are known go on working for a time',
        );
      this.outage = { since_epoch_ms: this.outage?.since_epoch_ms ?? this.#clock.epoch_ms(), cause: fault };
    }
  }

  async #loop(): Promise<void> {
    await this.refresh();
    if (!this.#isStopped) this.#timer = setTimeout(() => this.#loop(), sync_ms).unref();
  }

  #apply(of: Awaited<ReturnType<ChangeFeed['since']>>['of']): void {
    if (of === 'all') {
      this.applied++;
      return this.#listener.all();
    }
    if (of.digests.length + of.accounts.length === 0) return;
    this.applied++;
    this.#listener.digests(of.digests);
    this.#listener.accounts(of.accounts);
  }
}
