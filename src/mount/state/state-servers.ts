import { EventEmitter } from 'node:events';
import type { Clock } from '../../common/clock.ts';
import type { Outage } from '../../common/outage.ts';
import type { RemoteServer, RemoteState } from '../../records/remote-state.ts';
import type { Log } from '../../telemetry/log.ts';
import type { StoreMetrics } from '../../telemetry/store-metrics.ts';
import { Heartbeat } from './heartbeat.ts';
import { StoreCircuitBreaker } from './store-circuit-breaker.ts';

export interface StateServersOptions {
  readonly metrics: StoreMetrics;
  readonly log: Log;
  readonly clock: Clock;
}

interface Events {
  out: [Outage];
  /** The circuit breaker of one has closed, or its accounts have gone to another. */
  closed: [Outage | undefined];
}

/** A server with what watches it. */
interface Watched {
  readonly breaker: StoreCircuitBreaker;
  readonly heartbeat: Heartbeat;
  /** Resolves when it has answered for the first time, or has failed to. */
  readonly started: Promise<void>;
  isStarted: boolean;
  instances: number;
}

/** The servers of a remote store, each with a circuit breaker and a heartbeat: one that is lost takes no accounts of others with it. */
export class StateServers extends EventEmitter<Events> {
  readonly #remote: RemoteState;
  readonly #options: StateServersOptions;
  readonly #onHeard: (instances: number) => void;
  readonly #watched = new Map<RemoteServer, Watched>();
  #isStopped = false;

  constructor(remote: RemoteState, options: StateServersOptions, onHeard: (instances: number) => void) {
    super();
    this.#remote = remote;
    this.#options = options;
    this.#onHeard = onHeard;
    options.metrics.prepareOutages('state');
  }

  /** Resolves when all servers have answered, or have failed to. */
  async started(): Promise<void> {
    for (let servers: readonly RemoteServer[] = []; servers.length < this.#remote.servers().length; ) {
      servers = this.#remote.servers();
      await Promise.all(servers.map(server => this.#watch(server).started));
    }
  }

  /** The circuit breaker of the server that has an account; open until the server has answered once. */
  of(account: string): StoreCircuitBreaker {
    return this.#watch(this.#remote.serverOf(account)).breaker;
  }

  /** Resolves when the server of an account has answered for the first time, or has failed to; undefined if it has. */
  starting(account: string): Promise<void> | undefined {
    const { isStarted, started } = this.#watch(this.#remote.serverOf(account));
    return isStarted ? undefined : started;
  }

  /** The longest of the outages, and whether all servers are out. */
  get outage(): (Outage & { readonly isTotal: boolean }) | undefined {
    const outages = [...this.#watched.values()].flatMap(({ breaker }) => breaker.outage ?? []);
    const [first] = outages.toSorted((one, other) => one.since_epoch_ms - other.since_epoch_ms);
    if (!first) return undefined;
    const { size } = this.#watched;
    const isTotal = outages.length === size;
    if (size === 1) return { ...first, isTotal };
    const { cause } = first;
    const message = cause instanceof Error ? cause.message : String(cause);
    const which = `${outages.length} of ${size} servers: ${message}`;
    return { ...first, cause: new Error(which, { cause }), isTotal };
  }

  stop(): void {
    this.#isStopped = true;
    for (const { heartbeat } of this.#watched.values()) heartbeat.stop();
  }

  #watch(server: RemoteServer): Watched {
    return this.#watched.get(server) ?? this.#begin(server);
  }

  #begin(server: RemoteServer): Watched {
    const { metrics, log, clock } = this.#options;
    const breaker = new StoreCircuitBreaker(metrics, log, clock);
    // Nothing is sent to it before it has answered.
    breaker.closed = false;
    breaker.on('out', outage => this.emit('out', outage));
    breaker.on('closed', outage => this.emit('closed', outage));
    const heart = {
      heartbeat: (lives_ms: number) => server.heartbeat(lives_ms).finally(() => this.#dropGone()),
    };
    const heartbeat = new Heartbeat(heart, breaker, instances => {
      watched.instances = instances;
      this.#onHeard(Math.max(...[...this.#watched.values()].map(each => each.instances)));
    });
    const watched: Watched = {
      breaker,
      heartbeat,
      started: heartbeat.start().then(() => {
        watched.isStarted = true;
      }),
      isStarted: false,
      instances: 1,
    };
    this.#watched.set(server, watched);
    if (this.#isStopped) heartbeat.stop();
    return watched;
  }

  /** What waits for a server that is gone goes to those that have its accounts now. */
  #dropGone(): void {
    for (const [server, { breaker, heartbeat }] of this.#watched) {
      if (!server.isGone || this.#isStopped) continue;
      this.#watched.delete(server);
      heartbeat.stop();
      breaker.end();
    }
  }
}
