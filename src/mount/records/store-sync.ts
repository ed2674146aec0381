import type { Clock } from '../../common/clock.ts';
import type { Outage } from '../../common/outage.ts';
import { RepeatingTask } from '../../common/repeating-task.ts';
import type { ChangeFeed, Changes } from '../../records/change-feed.ts';
import type { Log } from '../../telemetry/log.ts';

/** Interval of polling for changes of other programs, which are told to be noticed within a second. */
const usual_ms = 500;

type OnChange = (changes: Changes['of'], more: Pick<Changes, 'disabled' | 'has_imported'>) => void;
type OnControls = (controls: NonNullable<Changes['controls']>) => void;

/** Polls the store for changes of keys, accounts and controls. */
export class StoreSync {
  /** Set while the store is unavailable. */
  outage: Outage | undefined;
  readonly #feed: Pick<ChangeFeed, 'since'>;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #onChange: OnChange;
  readonly #onControls: OnControls | undefined;
  readonly #interval_ms: number;
  #change: number | undefined;
  #isStopped = false;
  /** Time at which the last answered poll was sent. */
  #synced_ms = Number.NEGATIVE_INFINITY;
  readonly #task = new RepeatingTask(async () => {
    await this.refresh();
    return this.#interval_ms;
  });

  constructor(
    feed: Pick<ChangeFeed, 'since'>,
    clock: Clock,
    log: Log,
    onChange: OnChange,
    onControls?: OnControls,
    interval_ms = usual_ms,
  ) {
    this.#feed = feed;
    this.#clock = clock;
    this.#log = log;
    this.#onChange = onChange;
    this.#onControls = onControls;
    this.#interval_ms = interval_ms;
  }

  /** Age of the last complete state. */
  get age_ms(): number {
    return this.#clock.elapsed_ms() - this.#synced_ms;
  }

  /** Begins polling. Resolves at the end of the first poll. */
  start(): Promise<void> {
    return this.#task.run();
  }

  /** Ends polling. A poll in flight may outlive the store; what it meets then is no outage. */
  stop(): void {
    this.#isStopped = true;
    void this.#task.close();
  }

  /** Polls now. Never rejects. */
  async refresh(): Promise<void> {
    const asked_ms = this.#clock.elapsed_ms();
    try {
      const answer = await this.#feed.since(this.#change);
      const { change, of, controls } = answer;
      // Keys looked up before the first poll may have changed since.
      const changes = this.#change === undefined ? 'all' : of;
      if (changes === 'all' || changes.digests.length + changes.accounts.length > 0)
        this.#onChange(changes, answer);
      if (controls) this.#onControls?.(controls);
      this.#change = change;
      this.#synced_ms = asked_ms;
      if (this.outage) this.#log.info('the records store answers again');
      this.outage = undefined;
    } catch (fault) {
      if (this.#isStopped) return;
      if (!this.outage)
        this.#log.error(
          { err: fault },
          'the records store is down: cached keys keep working for key_cache_ttl_ms',
        );
      this.outage = { since_epoch_ms: this.outage?.since_epoch_ms ?? this.#clock.epoch_ms(), cause: fault };
    }
  }
}
