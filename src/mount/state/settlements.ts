import { RepeatingTask } from '../../common/repeating-task.ts';
import {
  CannotServe,
  type RemoteState,
  type Settlement,
  TooLate,
  Unreachable,
} from '../../records/remote-state.ts';
import type { Log } from '../../telemetry/log.ts';
import type { StoreMetrics } from '../../telemetry/store-metrics.ts';
import type { CircuitBreakers } from './store-circuit-breaker.ts';

/** About 20 MB of them. */
const max_waiting = 65_536;
/** The oldest are dropped together when the bound is exceeded by this many: each drop moves the rest. */
const dropped_at_once = 1024;
/** How many waiting ones are sent at a time. */
const max_resent = 64;
/** Delay before failed ones are sent again while the store works. */
const again_ms = 500;
/** After this many refusals a settlement is dropped. */
const max_attempts = 10;

interface Waiting {
  readonly settlement: Settlement;
  attempts: number;
}

/**
 * Sends settlements to the store. Failed ones wait, the last `max_waiting` of them, and are sent again; each counts once, at the time at
 * which it was settled. Dropped are only those beyond the bound and those refused repeatedly, which leaves their reservations counted;
 * attempts while the store is down are no refusals.
 */
export class Settlements {
  readonly #remote: RemoteState;
  readonly #breakers: CircuitBreakers;
  readonly #metrics: StoreMetrics;
  readonly #log: Log;
  #waiting: Waiting[] = [];
  readonly #underWay = new Set<Promise<boolean>>();
  readonly #task = new RepeatingTask(() => this.#resend());

  constructor(remote: RemoteState, breakers: CircuitBreakers, metrics: StoreMetrics, log: Log) {
    this.#remote = remote;
    this.#breakers = breakers;
    this.#metrics = metrics;
    this.#log = log;
    breakers.on('closed', () => void this.resend());
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  /** Never throws. */
  add(settlement: Settlement): void {
    const waiting = { settlement, attempts: 0 };
    if (this.#isSendable(waiting)) void this.#sent(waiting);
    else this.#wait(waiting);
  }

  /** None is sent again by itself afterwards. */
  stop(): void {
    void this.#task.close();
  }

  /** Sends the waiting ones until one fails. */
  resend(): Promise<void> {
    return this.#task.run();
  }

  /** Resolves when all are sent, as far as the store accepts them. */
  async settled(): Promise<void> {
    await Promise.all(this.#underWay);
    await this.resend();
  }

  async #resend(): Promise<undefined> {
    for (let some = this.#taken(); some.length > 0; some = this.#taken()) {
      const accepted = await Promise.all(some.map(waiting => this.#sent(waiting)));
      this.#metrics.settlementsWaiting(this.#waiting.length);
      if (accepted.includes(false)) break;
    }
  }

  /** The oldest that can be sent, which do not wait any more. */
  #taken(): Waiting[] {
    if (this.#breakers.closed) return this.#waiting.splice(0, max_resent);
    const taken: Waiting[] = [];
    this.#waiting = this.#waiting.filter(waiting => {
      if (taken.length >= max_resent || !this.#isSendable(waiting)) return true;
      taken.push(waiting);
      return false;
    });
    return taken;
  }

  #isSendable({ settlement }: Waiting): boolean {
    return this.#breakers.of(settlement.hold.request.account).closed;
  }

  /** Resolves with whether the store accepted it. */
  #sent(waiting: Waiting): Promise<boolean> {
    const sent = this.#breakers
      .of(waiting.settlement.hold.request.account)
      .call('settle', () => this.#remote.settle(waiting.settlement))
      .then(
        () => true,
        error => {
          if (!(error instanceof Unreachable || error instanceof CannotServe)) waiting.attempts++;
          if (error instanceof TooLate) this.#metrics.settlementsDropped(1, 'too_late');
          else if (waiting.attempts >= max_attempts) this.#metrics.settlementsDropped(1, 'rejected');
          else this.#wait(waiting);
          return false;
        },
      );
    this.#underWay.add(sent);
    void sent.then(() => this.#underWay.delete(sent));
    return sent;
  }

  #wait(waiting: Waiting): void {
    this.#waiting.push(waiting);
    this.#task.runIn(again_ms);
    if (this.#waiting.length >= max_waiting + dropped_at_once) this.#dropOldest();
    this.#metrics.settlementsWaiting(this.#waiting.length);
  }

  #dropOldest(): void {
    const { length } = this.#waiting.splice(0, dropped_at_once);
    this.#metrics.settlementsDropped(length, 'queue_full');
    this.#log.error({ settlements: length, max_waiting }, 'dropped the oldest waiting settlements');
  }
}
