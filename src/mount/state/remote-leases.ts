import { randomUUID } from 'node:crypto';
import type { Clock } from '../../common/clock.ts';
import type { Outage } from '../../common/outage.ts';
import { RepeatingTask } from '../../common/repeating-task.ts';
import { within } from '../../common/within.ts';
import type { OutagePolicies } from '../../config/state-options.ts';
import { type Limit, neverResets } from '../../gateway/limits/limit-table.ts';
import type {
  LimitStatuses,
  ReservationRequest,
  ReservationResult,
  StateOutage,
} from '../../gateway/limits/state-store.ts';
import type { ClosableCache } from '../../records/define-state-store.ts';
import type { LeaseAnswer, LeaseMessage, LeaseTimes } from '../../records/lease-protocol.ts';
import { type RemoteState, Unreachable } from '../../records/remote-state.ts';
import type { Log } from '../../telemetry/log.ts';
import type { StoreMetrics } from '../../telemetry/store-metrics.ts';
import type { LeaseSource } from './leased-state-store.ts';
import { LeaseHolder } from './leases/lease-holder.ts';
import { LocalQuota } from './local-quota.ts';
import type { PastUseSource } from './past-restorer.ts';
import { StateServers } from './state-servers.ts';

/** Interval at which a process that holds something looks what others have asked for. */
const asked_ms = 200;

/** The longest that the ledger is waited for. */
const past_ms = 2000;

export interface RemoteLeasesOptions {
  /** Where totals begin that the store does not know; from 0 without. */
  readonly past?: PastUseSource | undefined;
  readonly policies: OutagePolicies;
  /** The fewest instances by which a limit is divided. */
  readonly min_instances: number;
  readonly times: LeaseTimes;
  /** Closed with the store. */
  readonly cache?: ClosableCache | undefined;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: StoreMetrics;
}

/**
 * Leases of a remote store that exchanges can rely on: where it fails or is out, the policies of the limits decide, and what they admit is
 * counted once it is back. No message is sent while the store is known to be out.
 */
export class RemoteLeases implements LeaseSource {
  readonly holder: LeaseHolder;
  readonly #remote: RemoteState;
  readonly #options: RemoteLeasesOptions;
  readonly #servers: StateServers;
  readonly #quota: LocalQuota;
  readonly #name = randomUUID();
  /** When this process has asked for accounts. */
  readonly #asking = new Map<string, number>();
  readonly #asks = new RepeatingTask(() => this.#lookWhatIsAsked());
  #onAsked: (account: string) => void = () => {};
  #started: Promise<void> | undefined;
  #isStarted = false;

  constructor(remote: RemoteState, options: RemoteLeasesOptions) {
    const { policies, min_instances, times, clock, log, metrics } = options;
    this.holder = new LeaseHolder(times);
    this.#remote = remote;
    this.#options = options;
    this.#servers = new StateServers(remote, { metrics, log, clock }, instances => {
      this.#quota.instances = Math.max(1, instances);
      metrics.instances(this.#quota.instances);
    });
    this.#servers.on('out', outage => this.#logOutage(outage));
    this.#servers.on('closed', outage => outage && this.#logReturn(outage));
    this.#quota = new LocalQuota(policies, min_instances, clock, this.holder);
  }

  get times(): LeaseTimes {
    return this.#options.times;
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
      this.#isStarted = true;
    });
    return this.#started;
  }

  starting(account: string): Promise<void> | undefined {
    return this.#isStarted ? this.#servers.starting(account) : this.started();
  }

  fault(account: string): unknown {
    const { closed, cause } = this.#servers.of(account);
    return closed ? undefined : (cause ?? new Unreachable('not connected yet'));
  }

  exchange(message: LeaseMessage): Promise<LeaseAnswer> | undefined {
    const breaker = this.#servers.of(message.account);
    if (!breaker.closed) return undefined;
    this.#asks.runIn(asked_ms);
    const send = (message: LeaseMessage) =>
      breaker.call('exchange', async () => this.#remote.exchange(this.#name, message));
    return message.rows.some(({ limit }) => neverResets(limit))
      ? this.#withPast(message, send)
      : send(message);
  }

  /** Sends a message, and again with what the ledger says of totals that the store does not know. Rejects where it cannot be read. */
  async #withPast(
    message: LeaseMessage,
    send: (message: LeaseMessage) => Promise<LeaseAnswer>,
  ): Promise<LeaseAnswer> {
    const answer = await send(message);
    if (!answer.lacks_past) return answer;
    const { account } = message;
    const rows = message.rows.map(async row => {
      if (!neverResets(row.limit)) return row;
      const { key, member } = row.limit;
      const late = () => new Error(`no answer from the ledger within ${past_ms} ms`);
      const found = this.#options.past?.find({ account, key, member }, [row.limit]);
      return { ...row, past: (found && (await within(found, past_ms, late)).of(row.limit, 0)) ?? 0 };
    });
    return send({ ...message, rows: await Promise.all(rows) });
  }

  reserve(request: ReservationRequest, fault: unknown): ReservationResult {
    const { metrics } = this.#options;
    metrics.decidedAlone(this.#quota.policy(request.limits));
    const result = this.#quota.reserve(request, fault);
    metrics.settlementsWaiting(this.#quota.waiting);
    return result;
  }

  statuses(account: string, limits: readonly Limit[]): LimitStatuses {
    return this.#quota.statuses(account, limits);
  }

  handOver(account?: string): void {
    if (this.#quota.waiting === 0) return;
    for (const each of account === undefined ? this.#quota.accounts() : [account])
      if (this.#servers.of(each).closed) this.#quota.handOver(each);
    this.#options.metrics.settlementsWaiting(this.#quota.waiting);
  }

  ask(account: string): void {
    this.#asking.set(account, this.#options.clock.elapsed_ms());
    // What fails is asked again.
    this.#remote
      .serverOf(account)
      .ask?.(account)
      .catch(() => {});
  }

  onAsked(listener: (account: string) => void): void {
    this.#onAsked = listener;
  }

  onReturn(listener: () => void): void {
    this.#servers.on('closed', listener);
  }

  async close(): Promise<void> {
    this.#servers.stop();
    await this.#asks.close();
    const settlements = this.#quota.waiting;
    if (settlements > 0)
      this.#options.log.warn(
        { settlements },
        'stopped with settlements that were not sent to the state store',
      );
    await Promise.all([this.#remote.close(), this.cache?.close?.()]);
  }

  async #lookWhatIsAsked(): Promise<number | undefined> {
    const asked = await Promise.all(this.#remote.servers().map(server => server.asked?.().catch(() => [])));
    const { patience_ms } = this.#options.times;
    const now_ms = this.#options.clock.elapsed_ms();
    for (const [account, at_ms] of this.#asking)
      if (now_ms - at_ms >= patience_ms) this.#asking.delete(account);
    // Who waits keeps nothing back by itself.
    for (const account of asked.flatMap(accounts => accounts ?? []))
      if (!this.#asking.has(account)) this.#onAsked(account);
    return this.holder.size > 0 ? asked_ms : undefined;
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
    log.warn(
      { out_ms, settlements_waiting: this.#quota.waiting },
      'the state store is back: circuit breaker closed',
    );
  }
}
