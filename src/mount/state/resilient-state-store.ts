import type { Clock } from '../../common/clock.ts';
import type { Outage } from '../../common/outage.ts';
import type { OutagePolicies } from '../../config/state-options.ts';
import type { Limit } from '../../gateway/limits/limit-table.ts';
import type {
  LimitStatus,
  Reservation,
  ReservationRequest,
  ReservationResult,
  StateOutage,
  StateStore,
} from '../../gateway/limits/state-store.ts';
import type { ClosableCache } from '../../records/define-state-store.ts';
import type { Hold, RemoteState } from '../../records/remote-state.ts';
import type { Log } from '../../telemetry/log.ts';
import type { StoreMetrics } from '../../telemetry/store-metrics.ts';
import { Leases } from './leases.ts';
import { LocalQuota } from './local-quota.ts';
import { Settlements } from './settlements.ts';
import { StateServers } from './state-servers.ts';
import type { StoreCircuitBreaker } from './store-circuit-breaker.ts';

export interface ResilientStateStoreOptions {
  readonly policies: OutagePolicies;
  /** The fewest instances by which a limit is divided. */
  readonly min_instances: number;
  /** How long the store keeps a lease that is not renewed. */
  readonly lease_ms: number;
  /** Closed with this store. */
  readonly cache?: ClosableCache | undefined;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: StoreMetrics;
}

const nothing = { requests: 0, tokens: 0, nano_usd: 0 };
const unlimited: ReservationResult = { admitted: true, statuses: [], reservation: { over: [], settle() {} } };

/**
 * A remote store that exchanges can rely on: where it fails or is out, the policies of the limits decide, and use is settled with it once it
 * is back. A call takes no longer than its own time-out, and none is made while the store is known to be out.
 */
export class ResilientStateStore implements StateStore {
  readonly #remote: RemoteState;
  readonly #options: ResilientStateStoreOptions;
  readonly #servers: StateServers;
  readonly #quota: LocalQuota;
  readonly #leases: Leases;
  readonly #settlements: Settlements;
  #started: Promise<void> | undefined;
  #isReady = false;

  constructor(remote: RemoteState, options: ResilientStateStoreOptions) {
    const { policies, min_instances, lease_ms, clock, log, metrics } = options;
    this.#remote = remote;
    this.#options = options;
    this.#servers = new StateServers(remote, { metrics, log, clock }, instances => {
      this.#quota.instances = Math.max(1, instances);
      metrics.instances(this.#quota.instances);
    });
    this.#servers.on('out', outage => this.#logOutage(outage));
    this.#servers.on('closed', outage => outage && this.#logReturn(outage));
    this.#quota = new LocalQuota(policies, min_instances, clock);
    this.#settlements = new Settlements(remote, this.#servers, metrics, log);
    this.#leases = new Leases(remote, this.#servers, lease_ms, clock);
  }

  get cache(): ClosableCache | undefined {
    return this.#options.cache;
  }

  get outage(): StateOutage | undefined {
    const { outage } = this.#servers;
    if (!outage) return undefined;
    const { isTotal, ...rest } = outage;
    // Where one server of several is out, other accounts are served.
    return { ...rest, refuses: isTotal && this.#options.policies.default === 'closed' };
  }

  /** Connects at the first call. Resolves when the store has answered, or has failed to. */
  started(): Promise<void> {
    this.#started ??= this.#servers.started().then(() => {
      this.#isReady = true;
    });
    return this.#started;
  }

  reserve(request: ReservationRequest): ReservationResult | Promise<ReservationResult> {
    if (request.limits.length === 0) return unlimited;
    if (!this.#isReady) return this.started().then(() => this.reserve(request));
    const breaker = this.#servers.of(request.account);
    if (breaker.closed) return this.#reserveRemotely(request, breaker);
    const starting = this.#servers.starting(request.account);
    return starting
      ? starting.then(() => this.reserve(request))
      : this.#reserveLocally(request, breaker.cause);
  }

  async statuses(account: string, limits: readonly Limit[]): Promise<readonly LimitStatus[]> {
    try {
      return await this.#servers.of(account).call('statuses', () => this.#remote.statuses(account, limits));
    } catch {
      return this.#quota.statuses(account, limits);
    }
  }

  knownStatuses(account: string, limits: readonly Limit[]): readonly LimitStatus[] {
    return this.#quota.knownStatuses(account, limits);
  }

  /** Resolves when all settlements are sent, as far as the store accepts them. */
  settled(): Promise<void> {
    return this.#settlements.settled();
  }

  async close(): Promise<void> {
    this.#leases.stop();
    this.#servers.stop();
    await this.#settlements.settled();
    this.#settlements.stop();
    const { waiting } = this.#settlements;
    if (waiting > 0)
      this.#options.log.warn(
        { settlements: waiting },
        'stopped with settlements that were not sent to the state store',
      );
    await Promise.all([this.#remote.close(), this.cache?.close?.()]);
  }

  async #reserveRemotely(
    request: ReservationRequest,
    breaker: StoreCircuitBreaker,
  ): Promise<ReservationResult> {
    const hold = this.#hold(request, this.#remote.serverOf(request.account).life);
    try {
      const result = await breaker.call('reserve', () => this.#remote.reserve(request));
      if (!result.admitted) {
        this.#quota.note(request.account, result.statuses);
        return result;
      }
      const own = this.#quota.count(request, result.statuses);
      const reservation = this.#reservation(hold, own, result.over);
      return { admitted: true, statuses: result.statuses, reservation };
    } catch (cause) {
      return this.#reserveUnconfirmed(request, cause);
    }
  }

  /** The store may have made the reservation without confirming it, or may yet: it is cancelled for a request that is refused. */
  #reserveUnconfirmed(request: ReservationRequest, cause: unknown): ReservationResult {
    let result: ReservationResult | undefined;
    try {
      result = this.#reserveLocally(request, cause);
      return result;
    } finally {
      const hold = this.#hold(request, undefined);
      if (!result?.admitted) this.#settlements.add({ hold, used: nothing, settled_ms: hold.reserved_ms });
    }
  }

  #reserveLocally(request: ReservationRequest, cause: unknown): ReservationResult {
    this.#options.metrics.decidedAlone(this.#quota.policy(request.limits));
    const result = this.#quota.reserve(request, cause);
    if (!result.admitted) return result;
    const { reservation: own } = result;
    return { ...result, reservation: this.#reservation(this.#hold(request, undefined), own, own.over) };
  }

  #hold(request: ReservationRequest, life: number | undefined): Hold {
    return { request, life, reserved_ms: this.#options.clock.elapsed_ms() };
  }

  #reservation(hold: Hold, own: Reservation, over: readonly Limit[]): Reservation {
    this.#leases.hold(hold);
    let isSettled = false;
    return {
      over,
      settle: used => {
        if (isSettled) return;
        isSettled = true;
        own.settle(used);
        this.#leases.release(hold);
        this.#settlements.add({ hold, used, settled_ms: this.#options.clock.elapsed_ms() });
      },
    };
  }

  #logOutage({ cause }: Outage): void {
    const { policies, log } = this.#options;
    log.error(
      { err: cause, policies, limits_divided_by: this.#quota.divisor },
      'the state store is down: circuit breaker opened, limits follow on_state_store_down',
    );
  }

  #logReturn({ since_epoch_ms }: Outage): void {
    const { clock, log } = this.#options;
    const out_ms = clock.epoch_ms() - since_epoch_ms;
    const settlements_waiting = this.#settlements.waiting;
    log.warn({ out_ms, settlements_waiting }, 'the state store is back: circuit breaker closed');
  }
}
