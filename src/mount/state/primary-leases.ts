import type { Clock } from '../../common/clock.ts';
import type { Outage } from '../../common/outage.ts';
import { refusal } from '../../gateway/exchange/errors.ts';
import type { Limit } from '../../gateway/limits/limit-table.ts';
import type {
  LimitStatuses,
  ReservationRequest,
  ReservationResult,
  StateOutage,
} from '../../gateway/limits/state-store.ts';
import { type LeaseAnswer, type LeaseMessage, process_times } from '../../records/lease-protocol.ts';
import type { Log } from '../../telemetry/log.ts';
import { type LeaseSource, unlimited } from './leased-state-store.ts';
import { LeaseHolder } from './leases/lease-holder.ts';

/** The longest that it is waited for: the primary itself may wait two seconds for the ledger. */
const patience_ms = 10_000;

/** Sends a message to the table of the primary process, which may be this one. Rejects if it cannot be reached. */
export type LeaseExchange = (message: LeaseMessage) => LeaseAnswer | Promise<LeaseAnswer>;

export interface PrimaryLeasesSetup {
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Leases of the primary process. While it does not answer, accounts with limits are refused with `server_error`, at first after ten seconds
 * and then at once: only it knows what is left.
 */
export class PrimaryLeases implements LeaseSource {
  readonly times = process_times;
  readonly holder = new LeaseHolder(process_times);
  readonly #ask: LeaseExchange;
  readonly #setup: PrimaryLeasesSetup;
  #outage: Outage | undefined;
  /** Since when nothing has been answered. */
  #asked_ms: number | undefined;

  constructor(ask: LeaseExchange, setup: PrimaryLeasesSetup) {
    this.#ask = ask;
    this.#setup = setup;
  }

  get outage(): StateOutage | undefined {
    return this.#outage && { ...this.#outage, refuses: true };
  }

  fault(): unknown {
    if (this.#asked_ms !== undefined && this.#setup.clock.elapsed_ms() - this.#asked_ms >= patience_ms)
      this.#silent(new Error('the primary process does not answer'));
    return this.#outage?.cause;
  }

  exchange(message: LeaseMessage): LeaseAnswer | Promise<LeaseAnswer> {
    const answer = this.#ask(message);
    if (!(answer instanceof Promise)) return answer;
    this.#asked_ms ??= this.#setup.clock.elapsed_ms();
    return answer.then(
      answer => this.#answered(answer),
      fault => {
        this.#silent(fault);
        throw fault;
      },
    );
  }

  reserve({ force }: ReservationRequest, cause: unknown): ReservationResult {
    if (force) return unlimited;
    throw refusal('server_error', { cause });
  }

  statuses(_account: string, _limits: readonly Limit[], cause: unknown): LimitStatuses {
    throw refusal('server_error', { cause });
  }

  #answered(answer: LeaseAnswer): LeaseAnswer {
    this.#asked_ms = undefined;
    if (this.#outage) {
      this.#outage = undefined;
      this.#setup.log.warn('the primary process answers again');
    }
    return answer;
  }

  /** Begins the outage unless there is one. */
  #silent(cause: unknown): void {
    if (this.#outage) return;
    const { clock, log } = this.#setup;
    this.#outage = { since_epoch_ms: clock.epoch_ms(), cause };
    log.error({ err: cause }, 'the primary process does not answer: accounts with limits are refused');
  }
}
