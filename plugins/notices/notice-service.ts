import { type ExtensionContext, isOutage, type NoticeRecords, RepeatingTask } from '../../src/plugin.ts';
import { LimitWatch } from './limit-watch.ts';
import { NoticeMetrics } from './notice-metrics.ts';
import type { NoticesOptions } from './options.ts';
import { NoticeSender } from './sender.ts';
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
  readonly #unwatch: () => void;
  readonly #looks = new RepeatingTask(() => this.#look());

  constructor(context: ExtensionContext, notices: NoticeRecords, options: () => NoticesOptions) {
    const { clock, log } = context;
    const metrics = new NoticeMetrics(context.metrics);
    this.#context = context;
    this.#options = options;
    this.#targets = new Targets({ clock, options });
    this.#sender = new NoticeSender({ notices, targets: this.#targets, clock, log, metrics, options });
    this.#limits = new LimitWatch(context, notices);
    this.#unwatch = context.records.watch(entries => this.#limits.active.note(entries));
    this.#sender.wake();
    this.#looks.runIn(options().poll_ms);
  }

  async close(): Promise<void> {
    this.#unwatch();
    await Promise.all([this.#looks.close(), this.#sender.close()]);
    await this.#targets.close();
  }

  async #look(): Promise<number> {
    const { thresholds, poll_ms } = this.#options();
    try {
      if ((await this.#limits.look(thresholds)) > 0) this.#sender.wake();
    } catch (err) {
      this.#context.log[isOutage(err) ? 'debug' : 'error'](
        { err },
        'failed to look at the limits of accounts',
      );
    }
    return poll_ms;
  }
}
