import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { SimulatorOptions } from '../../src/simulator/server.ts';
import type { Call } from './provider-child.ts';

const file = fileURLToPath(new URL('provider-child.ts', import.meta.url));
const start_ms = 30_000;
/** In this time a provider that was stopped has taken what had waited. */
const catching_up_ms = 2000;

/** A simulated provider in a process that can be killed, stopped, and started again at the same address. */
export class ProviderProcess {
  url = '';
  readonly name: string;
  /** When each call arrived, on `performance.now()`. */
  readonly calls_at_ms: number[] = [];
  /** Calls that it answers now. */
  open = 0;
  readonly #options: Partial<SimulatorOptions>;
  readonly #onCall: (provider: string, call: Call, is_stale: boolean) => void;
  #child: ChildProcess | undefined;
  #life = 0;
  #resumed_ms = Number.NEGATIVE_INFINITY;

  constructor(
    name: string,
    options: Partial<SimulatorOptions>,
    onCall: (provider: string, call: Call, is_stale: boolean) => void,
  ) {
    this.name = name;
    this.#options = options;
    this.#onCall = onCall;
  }

  get pid(): number {
    return this.#child?.pid ?? 0;
  }

  async start(): Promise<void> {
    const port = this.url === '' ? 0 : Number(new URL(this.url).port);
    // Nothing of how this process was started: under a test runner that is not meant for others.
    const child = fork(file, [JSON.stringify({ ...this.#options, port })], { execArgv: [] });
    this.#child = child;
    const [{ url }] = (await once(child, 'message', { signal: AbortSignal.timeout(start_ms) })) as [
      { url: string },
    ];
    this.url = url;
    const life = ++this.#life;
    child.on('message', (call: Call) => {
      if (call.at === 'begin') this.calls_at_ms.push(performance.now());
      this.open += call.at === 'begin' ? 1 : call.at === 'end' ? -1 : 0;
      this.#onCall(`${this.name}.${life}`, call, performance.now() < this.#resumed_ms + catching_up_ms);
    });
  }

  /** SIGSTOP: its connections stay and nothing is answered. */
  pause(): void {
    this.#child?.kill('SIGSTOP');
  }

  resume(): void {
    this.#resumed_ms = performance.now();
    this.#child?.kill('SIGCONT');
  }

  /** Ends at once, in the middle of everything. */
  async kill(): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    await exited;
    this.open = 0;
  }
}
