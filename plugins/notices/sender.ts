import {
  type ClaimedDelivery,
  type Clock,
  type DeliveryResult,
  day_ms,
  hour_ms,
  isOutage,
  type Log,
  type NoticeRecords,
  RepeatingTask,
} from '../../src/plugin.ts';
import { DeliveryFailed } from './delivery.ts';
import type { NoticeMetrics } from './notice-metrics.ts';
import type { NoticesOptions } from './options.ts';
import { retryDelay_ms } from './retry-schedule.ts';
import type { Targets } from './targets.ts';

/** Deliveries that are tried at a time. */
const at_once = 16;
/** Notices whose receivers are decided in one run. */
const routed_at_once = 100;
/** How much longer than the longest attempt a claim lasts: the time for its result to be written. */
const claim_margin_ms = 30_000;

/** How long notices are kept: longer than the windows of limits, in each of which they are told once. */
const kept_ms = 100 * day_ms;

export interface SenderSetup {
  readonly notices: NoticeRecords;
  readonly targets: Targets;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: NoticeMetrics;
  readonly options: () => NoticesOptions;
  readonly random?: () => number;
}

/**
 * Sends what is in the outbox. Several instances share one: each delivery is claimed for a while, so that it is tried by one of them, and by
 * another one if that has died.
 */
export class NoticeSender {
  readonly #setup: SenderSetup;
  readonly #ending = new AbortController();
  readonly #task: RepeatingTask;
  #isStoreOut = false;
  #pruned_ms = Number.NEGATIVE_INFINITY;

  constructor(setup: SenderSetup) {
    this.#setup = setup;
    this.#task = new RepeatingTask(() => this.#run());
  }

  /** Whether the records store was out when the outbox was looked into last. */
  get isStoreOut(): boolean {
    return this.#isStoreOut;
  }

  /** Looks into the outbox now. */
  wake(): void {
    this.#task.runIn(0);
  }

  /** Cuts off what is being sent; it is tried again by whoever is next. */
  async close(): Promise<void> {
    this.#ending.abort();
    await this.#task.close();
  }

  async #run(): Promise<number> {
    const { notices, log, metrics, options } = this.#setup;
    try {
      await this.#route();
      while (!this.#ending.signal.aborted && (await this.#deliver()) === at_once);
      metrics.waiting(await notices.waiting());
      this.#isStoreOut = false;
      await this.#prune();
    } catch (err) {
      this.#isStoreOut = isOutage(err);
      // The gateway says itself that the store is out.
      log[this.#isStoreOut ? 'debug' : 'error']({ err }, 'failed to read the notices that are to be sent');
    }
    return options().poll_ms;
  }

  async #prune(): Promise<void> {
    const { notices, clock } = this.#setup;
    const now_ms = clock.epoch_ms();
    if (now_ms < this.#pruned_ms + hour_ms) return;
    while ((await notices.prune(now_ms - kept_ms, routed_at_once)) === routed_at_once);
    this.#pruned_ms = now_ms;
  }

  /** Decides who gets the new notices. */
  async #route(): Promise<void> {
    const { notices, targets, clock } = this.#setup;
    for (const notice of await notices.unrouted(routed_at_once))
      await notices.route(notice.id, await targets.of(notice), clock.epoch_ms());
  }

  /** Tries deliveries that are due. Returns how many. */
  async #deliver(): Promise<number> {
    const { notices, clock, targets } = this.#setup;
    const now_ms = clock.epoch_ms();
    const until_ms = now_ms + targets.timeout_ms + claim_margin_ms;
    const claimed = await notices.claim(now_ms, until_ms, at_once);
    await Promise.all(
      claimed.map(async delivery =>
        notices.settle(delivery.notice.id, delivery, await this.attempt(delivery)),
      ),
    );
    return claimed.length;
  }

  /** Tries to deliver a notice. */
  async attempt({ notice, target, attempts }: ClaimedDelivery): Promise<DeliveryResult> {
    const { targets, clock, log, metrics, options, random = Math.random } = this.#setup;
    const { id, type } = notice;
    try {
      await targets.send(target, notice, this.#ending.signal);
    } catch (thrown) {
      const now_ms = clock.epoch_ms();
      const fault = thrown instanceof Error ? thrown.message.slice(0, 300) : String(thrown);
      const delay_ms = retryDelay_ms(options(), attempts, now_ms - notice.created_ms, random());
      const isFinal = thrown instanceof DeliveryFailed && thrown.isFinal;
      if (!isFinal && delay_ms !== undefined) {
        metrics.delivered(target, 'retried');
        log.debug({ notice: id, type, target, attempts, fault }, 'a notice is sent again later');
        return { state: 'waiting', at_ms: now_ms + delay_ms, fault };
      }
      metrics.delivered(target, 'failed');
      log.warn({ notice: id, type, target, attempts, fault }, 'a notice could not be delivered');
      return { state: 'failed', at_ms: now_ms, fault };
    }
    metrics.delivered(target, 'sent');
    log.info({ notice: id, type, target, attempts }, 'notice sent');
    return { state: 'sent', at_ms: clock.epoch_ms(), fault: '' };
  }
}
