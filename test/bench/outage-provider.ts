import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { SimulatorOptions, SimulatorStats } from '../../src/simulator/server.ts';

const file = fileURLToPath(new URL('soak-simulator.ts', import.meta.url));
const patience_ms = 30_000;

/** A simulated provider as a process that can die, and come back at the same address. */
export class DyingProvider {
  url = '';
  readonly #options: Partial<SimulatorOptions>;
  #child: ChildProcess | undefined;
  #before = 0;
  #requests = 0;
  readonly #endAlso = () => this.#child?.kill('SIGKILL');

  constructor(options: Partial<SimulatorOptions>) {
    this.#options = options;
    process.once('exit', this.#endAlso);
  }

  /** How many requests it has received, in all its lives. */
  get requests(): number {
    return this.#before + this.#requests;
  }

  async start(): Promise<void> {
    const port = this.url === '' ? 0 : Number(new URL(this.url).port);
    const child = fork(file, [JSON.stringify({ ...this.#options, port })], { execArgv: [] });
    this.#child = child;
    const signal = AbortSignal.timeout(patience_ms);
    const [{ url }] = (await once(child, 'message', { signal })) as [{ url: string }];
    this.url = url;
    child.on('message', (stats: SimulatorStats) => {
      this.#requests = stats.requests;
    });
  }

  /** Asks for the counters, which `requests` has a moment later. */
  look(): void {
    if (this.#child?.connected) this.#child.send('stats');
  }

  /** Ends at once, in the middle of everything. */
  async kill(): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    this.#before += this.#requests;
    this.#requests = 0;
    if (!child) return;
    const closed = once(child, 'exit');
    child.kill('SIGKILL');
    await closed;
  }

  /** Does nothing any longer, though its connections stay. */
  stop(): void {
    this.#child?.kill('SIGSTOP');
  }

  resume(): void {
    this.#child?.kill('SIGCONT');
  }

  async end(): Promise<void> {
    this.resume();
    await this.kill();
    process.off('exit', this.#endAlso);
  }
}
