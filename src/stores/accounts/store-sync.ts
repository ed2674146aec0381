import type { Clock } from '../../clock.ts';
import type { Log } from '../../telemetry/log.ts';
import type { ChangeFeed } from '../records/change-feed.ts';
import type { Outage } from '../records/outage.ts';

/** Interval of polling for changes. */
export const sync_ms = 2000;
/** Time without an answer after which cached keys may be outdated. */
const current_ms = 5000;

/** Called with changes in the store. */
export interface ChangeListener {
  digests(digests: readonly string[]): void;
  accounts(ids: readonly string[]): void;
  /** Called if anything may have changed. */
  all(): void;
}

/** Polls the store for changes of keys and accounts. */
export class StoreSync {
  /** Number of times that changes were applied. */
  applied = 0;
  /** Set while the store is unavailable. */
  outage: Outage | undefined;
  readonly #feed: Pick<ChangeFeed, 'since'>;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #listener: ChangeListener;
  #change: number | undefined;
  /** Time at which the last answered poll was sent. */
  #synced_ms = Number.NEGATIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;
  #isStopped = false;

  constructor(feed: Pick<ChangeFeed, 'since'>, clock: Clock, log: Log, listener: ChangeListener) {
    this.#feed = feed;
    this.#clock = clock;
    this.#log = log;
    this.#listener = listener;
  }

  /** Age of the last complete state. */
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

  /** Polls now. Never rejects. */
  async refresh(): Promise<void> {
    const asked_ms = this.#clock.elapsed_ms();
    try {
      const { change, of } = await this.#feed.since(this.#change);
      // Keys looked up before the first poll may have changed since.
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
