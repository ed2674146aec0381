import { hostname } from 'node:os';
import { type ExtensionContext, isOutage, type NoticeRecords, RepeatingTask } from '../../src/plugin.ts';
import { LimitWatch } from './limit-watch.ts';
import { NoticeMetrics } from './notice-metrics.ts';
import type { NoticesOptions } from './options.ts';
import { NoticeSender } from './sender.ts';
import { StateNotices } from './state-notices.ts';
import { StateWatch } from './state-watch.ts';
import { Targets } from './targets.ts';

/** Notices of one gateway, while its configuration names a receiver. */
export class NoticeService {
  readonly #context: ExtensionContext;
  #options: NoticesOptions;
  #running: Running | undefined;

  constructor(context: ExtensionContext, options: NoticesOptions) {
    this.#context = context;
    this.#options = options;
    this.configure(options);
  }

  /** Follows a configuration. */
  configure(options: NoticesOptions): void {
    this.#options = options;
    const isWanted = Object.keys(options.webhooks).length > 0 || options.mail !== undefined;
    if (isWanted === (this.#running !== undefined)) return;
    if (!isWanted) {
      void this.#running!.close();
      this.#running = undefined;
      return;
    }
    const { notices } = this.#context.records.store;
    if (notices) this.#running = new Running(this.#context, notices, () => this.#options);
    else this.#context.log.error('notices are not sent: the records store does not keep them');
  }

  /** Ends what runs. */
  async close(): Promise<void> {
    await this.#running?.close();
  }
}

/** What watches and what sends. */
class Running {
  readonly #context: ExtensionContext;
  readonly #options: () => NoticesOptions;
  readonly #targets: Targets;
  readonly #sender: NoticeSender;
  readonly #limits: LimitWatch;
  readonly #stateNotices: StateNotices;
  readonly #states: StateWatch;
  readonly #unwatch: () => void;
  readonly #looks = new RepeatingTask(() => this.#look());

  constructor(context: ExtensionContext, notices: NoticeRecords, options: () => NoticesOptions) {
    const { clock, log } = context;
    const metrics = new NoticeMetrics(context.metrics);
    this.#context = context;
    this.#options = options;
    const targets = new Targets({ clock, options, contactsOf: id => contactsOf(context, id) });
    const sender = new NoticeSender({ notices, targets, clock, log, metrics, options });
    this.#targets = targets;
    this.#sender = sender;
    this.#limits = new LimitWatch(context, notices);
    this.#stateNotices = new StateNotices({
      notices,
      targetsOf: notice => targets.of(notice),
      attempt: delivery => sender.attempt(delivery),
      instance: hostname(),
    });
    this.#states = new StateWatch(context, this.#stateNotices, () => sender.isStoreOut);
    this.#unwatch = context.records.watch(entries => this.#limits.active.note(entries));
    sender.wake();
    this.#looks.runIn(options().poll_ms);
  }

  async close(): Promise<void> {
    this.#unwatch();
    await Promise.all([this.#sender.close(), this.#looks.close()]);
    await this.#targets.close();
  }

  async #look(): Promise<number> {
    const options = this.#options();
    const { clock, log } = this.#context;
    try {
      await this.#states.look(options);
      if (await this.#stateNotices.flush(clock.epoch_ms())) this.#sender.wake();
      if ((await this.#limits.look(options.thresholds)) > 0) this.#sender.wake();
    } catch (err) {
      log[isOutage(err) ? 'debug' : 'error']({ err }, 'failed to look at what is to be told');
    }
    return options.poll_ms;
  }
}

/** The mail addresses of the people of an account, in the configuration or the store. */
async function contactsOf({ settings, records }: ExtensionContext, id: string): Promise<readonly string[]> {
  if (Object.hasOwn(settings.accounts, id)) return settings.accounts[id]!.contacts ?? [];
  return (await records.store.accounts.find(id))?.contacts ?? [];
}
