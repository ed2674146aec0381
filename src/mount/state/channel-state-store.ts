import type { Clock } from '../../common/clock.ts';
import type { Outage } from '../../common/outage.ts';
import { RepeatingTask } from '../../common/repeating-task.ts';
import { refusal } from '../../gateway/exchange/errors.ts';
import type { Limit } from '../../gateway/limits/limit-table.ts';
import type { Charge } from '../../gateway/limits/limit-units.ts';
import type {
  LimitStatus,
  LimitStatuses,
  ReservationRequest,
  ReservationResult,
  StateOutage,
  StateStore,
} from '../../gateway/limits/state-store.ts';
import type { Log } from '../../telemetry/log.ts';
import type { Channel } from '../workers/channel.ts';
import { KnownUse } from './known-use.ts';
import { type ReservationAnswer, type Settlement, type StatusRow, stateMessages } from './state-messages.ts';

/** The longest that a request waits: the primary itself may wait two seconds for the ledger. */
const patience_ms = 10_000;
/** Interval of looks at the oldest request that waits, and of sending what could not be sent. */
const look_ms = 500;

const nothing: Charge = { requests: 0, tokens: 0, nano_usd: 0 };
const unlimited: ReservationResult = { admitted: true, statuses: [], reservation: { over: [], settle() {} } };

/** A reservation that the primary has not answered. */
interface Waiting {
  readonly asked_ms: number;
  give_up(fault: Error): void;
}

export interface ChannelStateSetup {
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Limits that the primary process counts for all its workers. While it does not answer, accounts with limits are refused with `server_error`
 * after ten seconds, and then at once: without it nobody knows what is left.
 */
export class ChannelStateStore implements StateStore {
  readonly #channel: Channel;
  readonly #setup: ChannelStateSetup;
  readonly #known: KnownUse;
  /** In the order in which they were asked. */
  readonly #waiting = new Map<string, Waiting>();
  /** Settlements that the channel had no room for. Not more than exchanges that were admitted. */
  #unsent: Settlement[] = [];
  #outage: (Outage & { readonly cause: Error }) | undefined;
  readonly #watch = new RepeatingTask(async () => this.#look());

  constructor(channel: Channel, setup: ChannelStateSetup) {
    this.#channel = channel;
    this.#setup = setup;
    this.#known = new KnownUse(setup.clock);
  }

  get outage(): StateOutage | undefined {
    return this.#outage && { ...this.#outage, refuses: true };
  }

  reserve(request: ReservationRequest): ReservationResult | Promise<ReservationResult> {
    if (request.limits.length === 0) return unlimited;
    return this.#outage ? this.#withoutAnswer(request, this.#outage.cause) : this.#reserve(request);
  }

  async statuses(account: string, limits: readonly Limit[]): Promise<LimitStatuses> {
    const rows = (await this.#channel.request('state.statuses', { account, limits })) as StatusRow[];
    return this.#noted(account, limits, rows);
  }

  knownStatuses(account: string, limits: readonly Limit[]): LimitStatuses {
    return this.#known.statuses(account, limits);
  }

  /** Sends settlements that wait; the primary gives back what is still held when the channel closes. */
  async close(): Promise<void> {
    await this.#watch.close();
    this.#sendUnsent();
    // Everything that was sent before has arrived when this is answered.
    await this.#channel.request('state.statuses', { account: '', limits: [] }).catch(() => {});
  }

  async #reserve(request: ReservationRequest): Promise<ReservationResult> {
    const { id, account, limits } = request;
    let answer: ReservationAnswer;
    try {
      answer = await this.#asked(request);
    } catch (cause) {
      // It may have been reserved, or be later: this takes it back, in its turn.
      this.#settle([id, nothing]);
      return this.#withoutAnswer(request, cause);
    }
    const statuses = this.#noted(account, limits, answer.statuses);
    if (answer.refused_by !== undefined)
      return { admitted: false, statuses, refused_by: limits[answer.refused_by]!, retry_ms: answer.retry_ms };
    let isSettled = false;
    const settle = (used: Charge) => {
      if (isSettled) return;
      isSettled = true;
      this.#settle([id, used]);
    };
    return { admitted: true, statuses, reservation: { over: answer.over.map(at => limits[at]!), settle } };
  }

  /** The primary's answer. Rejects when it comes too late, or not at all. */
  #asked(request: ReservationRequest): Promise<ReservationAnswer> {
    const { id } = request;
    this.#watch.runIn(look_ms);
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { asked_ms: this.#setup.clock.elapsed_ms(), give_up: reject });
      this.#channel.request('state.reserve', stateMessages.reservation(request)).then(
        answer => {
          this.#waiting.delete(id);
          this.#answered();
          resolve(stateMessages.readAnswer(answer as string));
        },
        fault => {
          this.#waiting.delete(id);
          reject(fault);
        },
      );
    });
  }

  #withoutAnswer({ force }: ReservationRequest, cause: unknown): ReservationResult {
    if (force) return unlimited;
    throw refusal('server_error', { cause });
  }

  #noted(account: string, limits: readonly Limit[], rows: readonly StatusRow[]): LimitStatus[] {
    return rows.map(([remaining, reset_ms], at) => {
      const status = { limit: limits[at]!, remaining, reset_ms };
      this.#known.note(account, status);
      return status;
    });
  }

  #settle(settlement: Settlement): void {
    if (this.#unsent.length === 0 && this.#send(settlement)) return;
    // With the primary everything ends that it counted.
    if (!this.#channel.isOpen) return;
    this.#unsent.push(settlement);
    this.#watch.runIn(look_ms);
  }

  #sendUnsent(): void {
    const sent = this.#unsent.findIndex(settlement => !this.#send(settlement));
    this.#unsent = sent === -1 ? [] : this.#unsent.slice(sent);
  }

  #send(settlement: Settlement): boolean {
    return this.#channel.notify('state.settle', stateMessages.settlement(settlement));
  }

  #look(): number | undefined {
    this.#sendUnsent();
    const late_ms = this.#setup.clock.elapsed_ms() - patience_ms;
    for (const [id, { asked_ms, give_up }] of this.#waiting) {
      if (asked_ms > late_ms) break;
      this.#waiting.delete(id);
      give_up(this.#silent());
    }
    return this.#waiting.size + this.#unsent.length > 0 ? look_ms : undefined;
  }

  #silent(): Error {
    if (this.#outage) return this.#outage.cause;
    const cause = new Error('the primary process does not answer');
    this.#outage = { since_epoch_ms: this.#setup.clock.epoch_ms(), cause };
    this.#setup.log.error(
      { err: cause },
      'the primary process does not answer: accounts with limits are refused',
    );
    return cause;
  }

  #answered(): void {
    if (!this.#outage) return;
    this.#outage = undefined;
    this.#setup.log.warn('the primary process answers again');
  }
}
