import type { SimulatorOptions } from '../../../src/simulator/server.ts';
import { listening, start_ms } from '../processes.ts';
import type { Call } from './provider-child.ts';
import { portOf, ServerProcess } from './server-process.ts';

/** Within this time a provider that was paused has accepted what had waited. */
const catching_up_ms = 2000;

/** A report about a call; `key` identifies the call among those of all providers, and what was `queued` may have been sent long before. */
export type OnCall = (key: string, call: Call, queued: boolean) => void;

/** A simulated provider in a process. */
export class ProviderProcess extends ServerProcess {
  /** When each call arrived, on `performance.now()`. */
  readonly calls_at_ms: number[] = [];
  readonly #options: Partial<SimulatorOptions>;
  readonly #onCall: OnCall;
  #starts = 0;
  #resumed_ms = Number.NEGATIVE_INFINITY;

  constructor(name: string, options: Partial<SimulatorOptions>, onCall: OnCall) {
    super(name);
    this.#options = options;
    this.#onCall = onCall;
  }

  async start(): Promise<void> {
    const options = JSON.stringify({ ...this.#options, port: portOf(this.url) });
    const started = this.spawn(
      'test/tools/chaos/provider-child.ts',
      [options],
      ['ignore', 'pipe', 'inherit', 'ipc'],
    );
    const name = `${this.name}.${++this.#starts}`;
    started.child.on('message', (call: Call) => {
      if (call.at === 'begin') this.calls_at_ms.push(performance.now());
      this.#onCall(`${name}.${call.call}`, call, performance.now() < this.#resumed_ms + catching_up_ms);
    });
    [, this.url = ''] = await started.printed(listening, start_ms);
  }

  override resume(): void {
    this.#resumed_ms = performance.now();
    super.resume();
  }
}
