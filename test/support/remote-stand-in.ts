import type { Limit } from '../../src/gateway/limits/limit-table.ts';
import type { LimitStatus, ReservationRequest } from '../../src/gateway/limits/state-store.ts';
import type {
  Hold,
  RemoteReservationResult,
  RemoteServer,
  RemoteState,
  Settlement,
} from '../../src/records/remote-state.ts';

/** A remote store that admits every request, and is down, fails or is slow as a test sets it. */
export class RemoteStandIn implements RemoteState, RemoteServer {
  isGone = false;
  life = 1;
  instances = 1;
  /** The error with which every call rejects while it is set. */
  fault: Error | undefined;
  /** The status that statuses and reservations report for each limit. */
  standing: Pick<LimitStatus, 'remaining' | 'reset_ms'> = { remaining: 5, reset_ms: 1000 };
  readonly takes: string[] = [];
  readonly settled: Settlement[] = [];
  readonly renewed: string[][] = [];
  pulses = 0;
  closed = false;
  /** Settlements wait for this. */
  slow: Promise<void> | undefined;

  serverOf(): RemoteServer {
    return this;
  }

  servers(): readonly RemoteServer[] {
    return [this];
  }

  async reserve({ id, limits }: ReservationRequest): Promise<RemoteReservationResult> {
    this.#check();
    this.takes.push(id);
    return { admitted: true, statuses: this.#statuses(limits), over: [] };
  }

  async settle(settlement: Settlement): Promise<void> {
    await this.slow;
    this.#check();
    this.settled.push(settlement);
  }

  async renew(holds: readonly Hold[]): Promise<void> {
    this.#check();
    this.renewed.push(holds.map(({ request }) => request.id));
  }

  async statuses(_account: string, limits: readonly Limit[]): Promise<readonly LimitStatus[]> {
    this.#check();
    return this.#statuses(limits);
  }

  async heartbeat(): Promise<number> {
    this.pulses++;
    this.#check();
    return this.instances;
  }

  async close(): Promise<void> {
    this.closed = true;
  }

  #check(): void {
    if (this.fault) throw this.fault;
  }

  #statuses(limits: readonly Limit[]): LimitStatus[] {
    return limits.map(limit => ({ limit, ...this.standing }));
  }
}
