import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as after } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { defaultModels } from '../../src/catalog/default-models.ts';
import { type Child, Children, gateway_core, load_core, pinSelf } from './children.ts';
import { api_key } from './conversation.ts';

/** A sidecar alone on its core. */
export interface CrowdGateway {
  readonly child: Child;
  readonly port: number;
  readonly adminUrl: string;
}

/** A simulated upstream and whatever stands in front of it; everything that is started here ends with it. */
export class House {
  readonly children = new Children();
  readonly #directory = mkdtempSync(join(tmpdir(), 'sluice-crowd-'));
  #simulator: Child | undefined;
  #url = '';

  /** The upstream's process. Only after `open`. */
  get simulator(): Child {
    return this.#simulator!;
  }

  get simulatorPort(): number {
    return Number(new URL(this.#url).port);
  }

  async open(): Promise<void> {
    pinSelf(load_core);
    for (const signal of ['SIGINT', 'SIGTERM'] as const)
      process.once(signal, () => void this.close().finally(() => process.exit(1)));
    this.#simulator = this.children.startOwn(load_core, 'soak-simulator.ts');
    this.#url = ((await this.simulator.message()) as { url: string }).url;
  }

  async close(): Promise<void> {
    await this.children.stop();
    rmSync(this.#directory, { recursive: true, force: true });
  }

  /** As in production: a key, metrics, logs from `warn` on. */
  async startGateway(server: Readonly<Record<string, number>> = {}): Promise<CrowdGateway> {
    const file = join(this.#directory, 'sluice.json');
    const config = {
      server: { port: 0, ...server },
      admin: { port: 0 },
      log: { level: 'warn' },
      providers: { upstream: { adapter: 'vllm', base_url: this.#url } },
      models: defaultModels('upstream'),
      accounts: { crowd: { keys: [{ value: api_key }] } },
    };
    writeFileSync(file, JSON.stringify(config));
    const sidecar = fileURLToPath(new URL('../../src/sidecar.ts', import.meta.url));
    const args = ['--conditions=sluice-source', sidecar, '--config', file];
    const child = this.children.start(gateway_core, process.execPath, args);
    const [, port, adminUrl = ''] = await child.printed(
      /listening on http:\/\/127\.0\.0\.1:(\d+) \(admin: (http:\/\/[^\s)]+)\)/,
    );
    return { child, port: Number(port), adminUrl };
  }

  /** Asks it to end, and gives it the time of an idle one. */
  async stopGateway({ child }: CrowdGateway): Promise<void> {
    process.kill(child.pid, 'SIGTERM');
    await after(1500);
  }
}
