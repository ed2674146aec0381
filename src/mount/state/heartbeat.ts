import { RepeatingTask } from '../../common/repeating-task.ts';
import type { RemoteServer } from '../../records/remote-state.ts';
import type { StoreCircuitBreaker } from './store-circuit-breaker.ts';

/** Interval of an instance's heartbeat. Limits are divided by the instances whose heartbeat is younger than `instance_ms`. */
const heartbeat_ms = 5000;
const instance_ms = 3 * heartbeat_ms;
/** Interval of probes while the store is down. */
const probe_ms = 500;
/** Delay of the probe after a failure that may not be an outage: about the time of a new connection. */
const retry_ms = 100;

/** Writes this instance's heartbeat to a server, which other instances count; the circuit breaker closes when it succeeds. */
export class Heartbeat {
  readonly #task: RepeatingTask;

  constructor(
    server: Pick<RemoteServer, 'heartbeat'>,
    breaker: StoreCircuitBreaker,
    onHeard: (instances: number) => void,
  ) {
    const again_ms = () => (breaker.outage ? probe_ms : retry_ms);
    this.#task = new RepeatingTask(async () => {
      try {
        onHeard(await breaker.probe('heartbeat', () => server.heartbeat(instance_ms)));
        return heartbeat_ms;
      } catch {
        // The circuit breaker has counted the failure.
        return again_ms();
      }
    });
    breaker.on('failed', () => this.#task.runIn(again_ms()));
  }

  /** Resolves when the store has answered for the first time, or has failed to. */
  start(): Promise<void> {
    return this.#task.run();
  }

  stop(): void {
    void this.#task.close();
  }
}
