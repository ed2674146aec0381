import type { ProviderConfig } from '../../../common/options.ts';
import type { CallOwner, ResponseHead, UpstreamCall } from '../http/upstream-call.ts';

export type HealthCheckConfig = NonNullable<ProviderConfig['health_check']>;

/** Requests a path of the server. */
type Ask = (path: string, owner: CallOwner) => UpstreamCall;

/** Part of the interval that is random, so that the checks of several processes spread. */
const jitter = 0.1;

/** Checks a server at intervals from `start` to `close`. Healthy until shown otherwise. */
export class HealthCheck {
  healthy = true;
  #config: HealthCheckConfig;
  #get: Ask;
  #onChange: (healthy: boolean) => void;
  readonly #waiting = new Set<() => void>();
  #timer: NodeJS.Timeout | undefined;
  #call: UpstreamCall | undefined;
  /** Results in a row that contradict `healthy`. */
  #contrary = 0;
  /** Changes when running checks no longer count. */
  #round = 0;

  constructor(config: HealthCheckConfig, get: Ask, onChange: (healthy: boolean) => void) {
    this.#config = config;
    this.#get = get;
    this.#onChange = onChange;
  }

  start(): void {
    this.#timer = setTimeout(this.#check, 0).unref();
  }

  /** Goes on with other options, from what is known: a check that runs is given up, and the next begins. */
  restart(config: HealthCheckConfig, get: Ask, onChange: (healthy: boolean) => void): void {
    this.close();
    this.#config = config;
    this.#get = get;
    this.#onChange = onChange;
    this.start();
  }

  /** Resolves with `reply`; calls `onUnhealthy` when the server becomes unhealthy before, and at once if it is already. */
  async during<T>(reply: Promise<T>, onUnhealthy: () => void): Promise<T> {
    if (!this.healthy) onUnhealthy();
    this.#waiting.add(onUnhealthy);
    try {
      return await reply;
    } finally {
      this.#waiting.delete(onUnhealthy);
    }
  }

  close(): void {
    this.#round++;
    clearTimeout(this.#timer);
    this.#call?.cancel(new Error('no further health checks'));
  }

  readonly #check = async (): Promise<void> => {
    const { interval_ms } = this.#config;
    const round = this.#round;
    const passed = await this.#passes();
    if (round !== this.#round) return;
    this.#learn(passed);
    const wait_ms = interval_ms * (1 + jitter * (2 * Math.random() - 1));
    this.#timer = setTimeout(this.#check, wait_ms).unref();
  };

  async #passes(): Promise<boolean> {
    const { path, timeout_ms } = this.#config;
    const head = Promise.withResolvers<ResponseHead>();
    const call = this.#get(path, { responded: head.resolve, failed: head.reject });
    this.#call = call;
    const late = setTimeout(() => call.cancel(new Error('a late health check')), timeout_ms).unref();
    try {
      const { status } = await head.promise;
      call.release(timeout_ms);
      return status < 300;
    } catch {
      return false;
    } finally {
      clearTimeout(late);
    }
  }

  #learn(passed: boolean): void {
    this.#contrary = passed === this.healthy ? 0 : this.#contrary + 1;
    const needed = this.healthy ? this.#config.unhealthy_after : this.#config.healthy_after;
    if (this.#contrary < needed) return;
    this.#contrary = 0;
    this.healthy = passed;
    this.#onChange(passed);
    if (!passed) for (const onUnhealthy of [...this.#waiting]) onUnhealthy();
  }
}
