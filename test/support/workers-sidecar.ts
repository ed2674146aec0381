import { type Agent, get as httpGet } from 'node:http';
import { get as httpsGet } from 'node:https';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { GatewayConfig } from '../../src/config/schema.ts';
import { ask, clientKey, sumOf } from './gateway-under-test.ts';
import { send } from './raw-client.ts';
import { type ConfiguredSidecar, sidecarConfig, startSidecar } from './sidecar-process.ts';
import { until } from './until.ts';

export const stageFile = (name: string): string =>
  fileURLToPath(new URL(`../fixtures/stages/${name}.ts`, import.meta.url));

/** A configuration with two workers, whose log has the exchanges. */
export const workersConfig = (upstream: string, sections: Partial<GatewayConfig> = {}): GatewayConfig =>
  sidecarConfig(upstream, {
    log: { level: 'info', format: 'json' },
    ...sections,
    server: { workers: 2, ...sections.server },
  } as Partial<GatewayConfig>);

/** A sidecar with workers. */
export class WorkersSidecar {
  readonly process: ConfiguredSidecar;

  private constructor(process: ConfiguredSidecar) {
    this.process = process;
  }

  static async start(
    config: GatewayConfig,
    environment?: Readonly<Record<string, string>>,
  ): Promise<WorkersSidecar> {
    return new WorkersSidecar(await startSidecar(config, environment));
  }

  /** The lines of the log so far. */
  log(): Record<string, unknown>[] {
    return this.process
      .output()
      .split('\n')
      .filter(line => line.startsWith('{') && line.endsWith('}'))
      .map(line => JSON.parse(line));
  }

  /** The processes that have become workers so far, by their numbers, the last of each. */
  workers(): Map<number, number> {
    const ready = this.log().filter(({ msg }) => msg === 'worker is ready');
    return new Map(ready.map(({ worker, pid }) => [worker as number, pid as number]));
  }

  /** All processes that were ever started, the primary first. */
  pids(): number[] {
    const ready = this.log().filter(({ msg }) => msg === 'worker is ready');
    return [this.process.pid, ...ready.map(({ pid }) => pid as number)];
  }

  async readiness(): Promise<{ status: number; text: string }> {
    const { status, text } = await send(`${this.process.adminUrl}/readyz`);
    return { status, text };
  }

  /** Waits until so many workers serve. */
  async whenReady(workers: number): Promise<void> {
    await until(async () =>
      (await this.readiness()).text.includes(`${workers} of ${workers} workers are ready`),
    );
  }

  /** The sum of a metric over all processes. */
  async metric(name: string): Promise<number> {
    return sumOf((await send(`${this.process.adminUrl}/metrics`)).text, name);
  }

  /** The status of one request on a connection of its own, which the next process in turn serves. */
  async ask(key = clientKey): Promise<number> {
    const body = JSON.stringify(ask('Hello [[sim:tokens=1]]'));
    const headers = {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      connection: 'close',
    };
    return (await send(`${this.process.url}/v1/chat/completions`, { method: 'POST', headers, body })).status;
  }

  /** The statuses of as many requests that every worker has served some. */
  asks(key?: string): Promise<number[]> {
    return Promise.all(Array.from({ length: 8 }, () => this.ask(key)));
  }
}

/** Whether a process runs, and is no zombie that waits for its parent. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** How long clients wait: longer than a process takes to start on a busy machine. */
const answer_ms = 30_000;

/** Clients that ask for the catalog again and again, until `end`. */
export class CatalogLoad {
  answered = 0;
  /** Statuses other than 200, and codes of errors. */
  readonly failures: unknown[] = [];
  readonly #clients: Promise<void>[];
  #isOver = false;

  constructor(url: string, agent: Agent, clients: number) {
    const get = url.startsWith('https:') ? httpsGet : httpGet;
    const ask = () =>
      new Promise<number | undefined>((resolve, reject) => {
        const request = get(`${url}/v1/models`, { agent, timeout: answer_ms }, response => {
          response
            .on('error', reject)
            .on('end', () => resolve(response.statusCode))
            .resume();
        });
        // Node may lose a connection that was on its way to a process when that was killed.
        request.on('error', reject).on('timeout', () => request.destroy(new Error('no answer')));
      });
    const client = async () => {
      // biome-ignore lint/plugin: load, not a wait.
      while (!this.#isOver) {
        await ask().then(
          status => (status === 200 ? this.answered++ : this.failures.push(status)),
          ({ code }) => this.failures.push(code),
        );
        // What is started meanwhile needs the processor as well.
        await sleep(10);
      }
    };
    this.#clients = Array.from({ length: clients }, client);
  }

  /** Resolves when so many more have been answered. */
  more(count: number): Promise<void> {
    const all = this.answered + count;
    return until(() => this.answered >= all, 15_000);
  }

  async end(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#clients);
  }
}
