import type { Clock } from '../../clock.ts';
import type { Log } from '../../telemetry/log.ts';
import type { StoreMetrics } from '../../telemetry/store-metrics.ts';
import { Circuit } from './circuit.ts';
import { Heartbeat } from './heartbeat.ts';
import { Leases } from './leases.ts';
import { LocalQuota } from './local-quota.ts';
import type { OutagePolicies } from './outage-policy.ts';
import type { Hold, RemoteState } from './remote-state.ts';
import { Settlements } from './settlements.ts';
import type {
  Charge,
  Limit,
  Standing,
  StateOutage,
  StateStore,
  Taken,
  TakeRequest,
  Ticket,
} from './state-store.ts';

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
const unlimited: Taken = { admitted: true, standings: [], ticket: { over: [], settle() {} } };

/**
 * A remote store that an exchange can rely on: where it fails or is out, the policies of the limits decide, and what was used meanwhile is
 * told to it once it is back. Asking it takes no longer than its own time-out, and nothing at all while it is known to be out.
 */
export class ResilientStateStore implements StateStore {
  readonly #remote: RemoteState;
  readonly #options: GuardOptions;
  readonly #circuit: Circuit;
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
    this.#circuit = new Circuit('state', metrics, log);
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

  take(request: TakeRequest): Taken | Promise<Taken> {
    if (request.limits.length === 0) return unlimited;
    if (!this.#ready) return this.started().then(() => this.take(request));
    return this.#circuit.closed ? this.#together(request) : this.#alone(request, this.#circuit.cause);
  }

  async standings(account: string, limits: readonly Limit[]): Promise<readonly Standing[]> {
    try {
      return await this.#circuit.ask('standings', () => this.#remote.standings(account, limits));
    } catch {
      return this.#share.standings(account, limits);
    }
  }

  recall(account: string, limits: readonly Limit[]): readonly Standing[] {
    return this.#share.recall(account, limits);
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

  async #together(request: TakeRequest): Promise<Taken> {
    const hold = this.#hold(request, this.#remote.life);
    try {
      const taken = await this.#circuit.ask('take', () => this.#remote.take(request));
      if (taken.admitted) {
        const own = this.#share.count(request, taken.standings);
        return { admitted: true, standings: taken.standings, ticket: this.#ticket(hold, own, taken.over) };
      }
      this.#share.hear(request.account, taken.standings);
      return taken;
    } catch (cause) {
      return this.#undecided(request, cause);
    }
  }

  /** The store may have taken it without saying so, or may yet: whoever is refused gives that back. */
  #undecided(request: TakeRequest, cause: unknown): Taken {
    const cancel = () => {
      const hold = this.#hold(request, undefined);
      this.#settlements.add({ hold, used: nothing, settled_ms: hold.taken_ms });
    };
    try {
      const taken = this.#alone(request, cause);
      if (!taken.admitted) cancel();
      return taken;
    } catch (refusal) {
      cancel();
      throw refusal;
    }
  }

  #alone(request: TakeRequest, cause: unknown): Taken {
    this.#options.metrics.decidedAlone(this.#share.policy(request.limits));
    const taken = this.#share.take(request, cause);
    if (!taken.admitted) return taken;
    const { over } = taken.ticket;
    return { ...taken, ticket: this.#ticket(this.#hold(request, undefined), taken.ticket, over) };
  }

  #hold(request: TakeRequest, life: number | undefined): Hold {
    return { request, life, taken_ms: this.#options.clock.elapsed_ms() };
  }

  #ticket(hold: Hold, own: Ticket, over: readonly Limit[]): Ticket {
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
