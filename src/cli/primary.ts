import { fork } from 'node:child_process';
import type { ConfigSource, Settings } from '../config/load.ts';
import { ConfigText } from '../config/read-config.ts';
import type { Gateway } from '../mount/gateway.ts';
import { type FixedValues, fixedValues, type GatewayProcess } from '../mount/reload.ts';
import { WorkerPool, type WorkerSpec } from '../mount/workers/worker-pool.ts';
import type { Closing } from '../mount/workers/worker-process.ts';
import { Workers } from '../mount/workers/workers.ts';
import type { WorkerPoolMetrics } from '../telemetry/worker-pool-metrics.ts';
import type { Address } from './listen.ts';
import { type AddressChoice, listenAddresses } from './listen-addresses.ts';
import { unusedPort } from './shared-port.ts';
import { workersOf } from './workers-of.ts';

/** What a worker serves, as it is sent to it. */
export interface WorkerConfig {
  readonly file: Pick<ConfigText, 'file' | 'text'> | undefined;
  /** Without a file. */
  readonly value: unknown;
  readonly fixed: FixedValues;
}

/** What a worker begins with. */
export interface WorkerStart {
  readonly config: WorkerConfig;
  readonly listener: { readonly address: Address; readonly options: unknown };
}

/** Time after which a worker that does not end is killed, beside what exchanges may take. */
const end_ms = 10_000;

/** The process that starts the workers of a sidecar, and that operators ask. It serves no request of clients itself. */
export class Primary {
  readonly #choice: AddressChoice;
  readonly #workers = new Workers();
  #pool: WorkerPool | undefined;
  #gateway: Gateway | undefined;
  /** In place of port 0: each worker listens by itself. */
  #freePort = 0;
  #isAborted = false;

  constructor(choice: AddressChoice) {
    this.#choice = choice;
  }

  /** Its part in the gateway of this process. */
  readonly process: GatewayProcess = {
    workers: this.#workers,
    forward: settings => this.#pool!.serve(this.#specOf(settings)),
  };

  get url(): string {
    return this.#pool?.url ?? '';
  }

  /** Resolves when a worker serves. Rejects if none can. */
  async start(gateway: Gateway, metrics: WorkerPoolMetrics): Promise<this> {
    const { settings, log } = gateway;
    const { server } = listenAddresses(settings, this.#choice);
    // With `reuse_port` another process may be there, which this one takes over from.
    if (!settings.server.reuse_port || server.port === 0) this.#freePort = await unusedPort(server);
    this.#gateway = gateway;
    this.#pool = new WorkerPool(this.#specOf(settings), {
      log,
      metrics,
      workers: this.#workers,
      // The program and options of Node of this process.
      fork: environment =>
        fork(process.argv[1]!, { env: { ...process.env, ...environment }, serialization: 'advanced' }),
    });
    try {
      await this.#pool.start();
    } catch (thrown) {
      await this.#end({ unready_ms: 0, isReplaced: false }, 0);
      throw thrown;
    }
    return this;
  }

  /** Lets the workers end as one process would, and closes the gateway after them: it has what they share. */
  async close(closing: Closing): Promise<void> {
    const gateway = this.#gateway!;
    await this.#end(closing, closing.unready_ms + gateway.settings.server.drain_ms + end_ms);
    await gateway.close(this.#isAborted ? 0 : undefined);
  }

  abort(): void {
    this.#isAborted = true;
    this.#pool?.abort();
  }

  async #end(closing: Closing, limit_ms: number): Promise<void> {
    await this.#pool?.close(closing, limit_ms);
  }

  #specOf(settings: Settings): WorkerSpec {
    const { source } = settings;
    const { server } = listenAddresses(settings, this.#choice);
    const { server: options, ...fixed } = fixedValues(settings);
    const isFile = source instanceof ConfigText;
    return {
      count: workersOf(settings),
      config: { file: isFile ? { ...source } : undefined, value: isFile ? undefined : source, fixed },
      listener: { address: { ...server, port: server.port || this.#freePort }, options },
    };
  }
}

/** What a worker loads: the file as the primary has read it, or the value. */
export const sourceOf = ({ file, value }: WorkerConfig): ConfigText | ConfigSource =>
  file ? new ConfigText(file.file, file.text) : (value as ConfigSource);
