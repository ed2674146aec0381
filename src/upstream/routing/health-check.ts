import { z } from 'zod';
import { InFlightSet } from '../../exchange/in-flight-set.ts';
import type { UpstreamCall } from '../http/upstream-call.ts';

/** How a server is asked whether it is well. */
export const healthCheckSchema = z.strictObject({
  path: z
    .string()
    .regex(/^\/(?!\/)[^\s#]*$/, 'must be a path from the root of the server, such as /health')
    .describe("Asked with GET, from the server's root, such as `/health`; a status below 300 is well."),
  interval_ms: z.int().min(100).default(10_000).describe('The time between two checks.'),
  timeout_ms: z.int().positive().default(3000).describe('The longest wait for an answer.'),
  unhealthy_after: z
    .int()
    .min(1)
    .default(2)
    .describe('After so many failed checks in a row it is asked nothing else.'),
  healthy_after: z.int().min(1).default(1).describe('After so many good ones in a row it is again.'),
});

export type HealthCheckConfig = z.output<typeof healthCheckSchema>;

/** Checks come at times of their own, not those of other processes. */
const jitter = 0.1;

/** Asks a server at intervals whether it is well. Well until shown otherwise; from `start` to `close`. */
export class HealthCheck {
  healthy = true;
  readonly #config: HealthCheckConfig;
  readonly #ask: (path: string) => UpstreamCall;
  readonly #onChange: (healthy: boolean) => void;
  readonly #waiting = new InFlightSet<() => void>();
  #timer: NodeJS.Timeout | undefined;
  #call: UpstreamCall | undefined;
  /** Results in a row that contradict `healthy`. */
  #contrary = 0;
  #closed = false;

  constructor(
    config: HealthCheckConfig,
    ask: (path: string) => UpstreamCall,
    onChange: (healthy: boolean) => void,
  ) {
    this.#config = config;
    this.#ask = ask;
    this.#onChange = onChange;
  }

  start(): void {
    this.#timer = setTimeout(this.#check, 0).unref();
  }

  /**
   * Waits for `reply`, and calls `onUnhealthy` if the server is found unhealthy meanwhile: once, and at once if it is already.
   */
  async during<T>(reply: Promise<T>, onUnhealthy: () => void): Promise<T> {
    if (!this.healthy) onUnhealthy();
    const place = this.#waiting.add(onUnhealthy);
    try {
      return await reply;
    } finally {
      this.#waiting.remove(place);
    }
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
    this.#call?.cancel(new Error('no further health checks'));
  }

  readonly #check = async (): Promise<void> => {
    const { interval_ms } = this.#config;
    const well = await this.#isWell();
    if (this.#closed) return;
    this.#learn(well);
    const wait_ms = interval_ms * (1 + jitter * (2 * Math.random() - 1));
    this.#timer = setTimeout(this.#check, wait_ms).unref();
  };

  async #isWell(): Promise<boolean> {
    const { path, timeout_ms } = this.#config;
    const call = this.#ask(path);
    this.#call = call;
    const late = setTimeout(() => call.cancel(new Error('a late health check')), timeout_ms).unref();
    try {
      const { status } = await call.head;
      call.release(timeout_ms);
      return status < 300;
    } catch {
      return false;
    } finally {
      clearTimeout(late);
    }
  }

  #learn(well: boolean): void {
    this.#contrary = well === this.healthy ? 0 : this.#contrary + 1;
    const needed = this.healthy ? this.#config.unhealthy_after : this.#config.healthy_after;
    if (this.#contrary < needed) return;
    this.#contrary = 0;
    this.healthy = well;
    this.#onChange(well);
    if (!well) for (const onUnhealthy of this.#waiting.items()) onUnhealthy();
  }
}
