import type { Clock } from '../../clock.ts';
import type { Log } from '../../telemetry/log.ts';
import type { StoreMetrics } from '../../telemetry/store-metrics.ts';
import { Heartbeat } from './heartbeat.ts';
import { Leases } from './leases.ts';
import type { Limit } from './limit-table.ts';
import type { Charge } from './limit-units.ts';
import { LocalQuota } from './local-quota.ts';
import type { OutagePolicies } from './outage-policy.ts';
import type { Hold, RemoteState } from './remote-state.ts';
import { Settlements } from './settlements.ts';
import type {
  LimitStatus,
  Reservation,
  ReservationRequest,
  ReservationResult,
  StateOutage,
  StateStore,
} from './state-store.ts';
import { StoreCircuitBreaker } from './store-circuit-breaker.ts';

export interface GuardOptions {
  readonly policies: OutagePolicies;
  /** The fewest instances by which a limit is divided. */
  readonly min_instances: number;
  /** How long the store keeps a lease that is not renewed. */
  readonly lease_ms: number;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: StoreMetrics;
}

const nothing: Charge = { requests: 0, tokens: 0, nano_usd: 0 };
const unlimited: ReservationResult = { admitted: true, statuses: [], reservation: { over: [], settle() {} } };

/**
 * A remote store that an exchange can rely on: where it fails or is out, the policies of the limits decide, and what was used meanwhile is
 * told to it once it is back. Asking it takes no longer than its own time-out, and nothing at all while it is known to be out.
 */
export class ResilientStateStore implements StateStore {
  readonly #remote: RemoteState;
  readonly #options: GuardOptions;
  readonly #circuit: StoreCircuitBreaker;
  readonly #share: LocalQuota;
  readonly #leases: Leases;
  readonly #settlements: Settlements;
  readonly #pulse: Heartbeat;
  #begun: Promise<void> | undefined;
  #ready = false;
  #outage: StateOutage | undefined;

  constructor(remote: RemoteState, options: GuardOptions) {
    const { policies, min_instances, lease_ms, clock, log, metrics } = options;
    this.#remote = remote;
    this.#options = options;
    this.#circuit = new StoreCircuitBreaker('state', metrics, log);
    this.#circuit.onOut(cause => this.#wentOut(cause));
    this.#circuit.onClose(() => this.#cameBack());
    this.#share = new LocalQuota(policies, min_instances, clock);
    this.#settlements = new Settlements(remote, this.#circuit, metrics, log);
    this.#leases = new Leases(remote, this.#circuit, lease_ms, clock);
    this.#pulse = new Heartbeat(remote, this.#circuit, instances => this.#heard(instances));
  }

  get outage(): StateOutage | undefined {
    return this.#outage;
  }

  /** Begins, if it has not. Resolves when the store has answered, or has failed to. */
  started(): Promise<void> {
    this.#begun ??= this.#begin();
    return this.#begun;
  }

  reserve(request: ReservationRequest): ReservationResult | Promise<ReservationResult> {
    if (request.limits.length === 0) return unlimited;
    if (!this.#ready) return this.started().then(() => this.reserve(request));
    return this.#circuit.closed ? this.#together(request) : this.#alone(request, this.#circuit.cause);
  }

  async statuses(account: string, limits: readonly Limit[]): Promise<readonly LimitStatus[]> {
    try {
      return await this.#circuit.ask('statuses', () => this.#remote.statuses(account, limits));
    } catch {
      return this.#share.statuses(account, limits);
    }
  }

  knownStatuses(account: string, limits: readonly Limit[]): readonly LimitStatus[] {
    return this.#share.knownStatuses(account, limits);
  }

  /** Resolves when all that was settled has been told to the store, as far as it listens. */
  settled(): Promise<void> {
    return this.#settlements.settled();
  }

  async close(): Promise<void> {
    this.#leases.stop();
    this.#pulse.stop();
    await this.#settlements.settled();
    this.#settlements.stop();
    const { waiting } = this.#settlements;
    if (waiting > 0)
      this.#options.log.warn({ settlements: waiting }, 'the state store will not hear of these settlements');
    await this.#remote.close();
  }

  async #begin(): Promise<void> {
    this.#leases.start();
    await this.#pulse.start();
    this.#ready = true;
  }

  async #together(request: ReservationRequest): Promise<ReservationResult> {
    const hold = this.#hold(request, this.#remote.life);
    try {
      const result = await this.#circuit.ask('reserve', () => this.#remote.reserve(request));
      if (result.admitted) {
        const own = this.#share.count(request, result.statuses);
        return {
          admitted: true,
          statuses: result.statuses,
          reservation: this.#reservation(hold, own, result.over),
        };
      }
      this.#share.hear(request.account, result.statuses);
      return result;
    } catch (cause) {
      return this.#undecided(request, cause);
    }
  }

  /** The store may have taken it without saying so, or may yet: whoever is refused gives that back. */
  #undecided(request: ReservationRequest, cause: unknown): ReservationResult {
    const cancel = () => {
      const hold = this.#hold(request, undefined);
      this.#settlements.add({ hold, used: nothing, settled_ms: hold.taken_ms });
    };
    try {
      const result = this.#alone(request, cause);
      if (!result.admitted) cancel();
      return result;
    } catch (refusal) {
      cancel();
      throw refusal;
    }
  }

  #alone(request: ReservationRequest, cause: unknown): ReservationResult {
    this.#options.metrics.decidedAlone(this.#share.policy(request.limits));
    const result = this.#share.reserve(request, cause);
    if (!result.admitted) return result;
    const { over } = result.reservation;
    return {
      ...result,
      reservation: this.#reservation(this.#hold(request, undefined), result.reservation, over),
    };
  }

  #hold(request: ReservationRequest, life: number | undefined): Hold {
    return { request, life, taken_ms: this.#options.clock.elapsed_ms() };
  }

  #reservation(hold: Hold, own: Reservation, over: readonly Limit[]): Reservation {
    this.#leases.hold(hold);
    let settled = false;
    return {
      over,
      settle: used => {
        if (settled) return;
        settled = true;
        own.settle(used);
        this.#leases.release(hold);
        this.#settlements.add({ hold, used, settled_ms: this.#options.clock.elapsed_ms() });
      },
    };
  }

  #heard(instances: number): void {
    this.#share.instances = Math.max(1, instances);
    this.#options.metrics.instances(this.#share.instances);
  }

  #wentOut(cause: unknown): void {
    if (this.#outage) return;
    const { clock, policies, log } = this.#options;
    this.#outage = { since_epoch_ms: clock.epoch_ms(), cause, refuses: policies.default === 'closed' };
    const { divisor } = this.#share;
    log.error(
      { err: cause, policies, limits_divided_by: divisor },
      'the state store is out: circuit breaker opened, limits follow on_state_store_down',
    );
  }

  #cameBack(): void {
    if (!this.#outage) return;
    const out_ms = this.#options.clock.epoch_ms() - this.#outage.since_epoch_ms;
    this.#outage = undefined;
    const { waiting } = this.#settlements;
    this.#options.log.warn(
      { out_ms, settlements_waiting: waiting },
      'the state store is back: circuit breaker closed',
    );
  }
}
