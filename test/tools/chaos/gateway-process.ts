import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { stringify } from 'yaml';
import type { GatewayConfig } from '../../../src/config/schema.ts';
import { sumOf } from '../../support/gateway-under-test.ts';
import type { PrintingProcess } from '../../support/printing-process.ts';
import { configFile } from '../../support/sidecar-process.ts';
import { until } from '../../support/until.ts';
import { listening, start_ms } from '../processes.ts';
import { type ProcessMetrics, readMetrics } from './process-metrics.ts';
import { portOf, ServerProcess } from './server-process.ts';

const stop_ms = 60_000;
/** Within this time clients see that a worker is dead. */
const noticed_ms = 250;

/** A period in which an instance was down, on `performance.now()`. */
interface Absence {
  readonly from_ms: number;
  until_ms: number;
}

/** One instance of the sidecar. */
export class GatewayProcess extends ServerProcess {
  adminUrl = '';
  /** Requests may be sent to it. */
  isUp = false;
  /** Idle, after its last start. */
  before: ProcessMetrics | undefined;
  readonly absences: Absence[] = [];
  /** How it ended, where that was not as requested. */
  readonly bad_ends: string[] = [];
  /** The most resident memory that any of its processes has had. */
  peak_rss_bytes = 0;
  readonly #config: () => GatewayConfig;
  /** What reloads have changed, in their order. */
  readonly #changes: ((config: GatewayConfig) => GatewayConfig)[] = [];
  /** The file of the process that was started last. */
  #file = '';
  readonly #onLine: (line: string) => void;
  readonly #processes: PrintingProcess[] = [];
  /** The process that is expected to run. */
  #wanted: PrintingProcess | undefined;

  /** `onLine` is called with each line of its log. */
  constructor(name: string, config: () => GatewayConfig, onLine: (line: string) => void) {
    super(name);
    this.#config = config;
    this.#onLine = onLine;
  }

  /** What all its processes have printed on standard error. */
  get errors(): string {
    return this.#processes.map(({ stderr }) => stderr).join('');
  }

  async start(): Promise<void> {
    const { file, remove } = await configFile(stringify(this.#placed));
    this.#file = file;
    const started = this.spawn('src/cli/sidecar.ts', ['--config', file]);
    this.#wanted = started;
    this.#processes.push(started);
    void started.exited.finally(remove).then(code => {
      if (started !== this.#wanted) return;
      this.#leave();
      this.bad_ends.push(`${this.name} ended by itself with ${code}: ${started.stderr.slice(-2000)}`);
    });
    createInterface({ input: started.child.stdout! }).on('line', line => {
      if (!line.includes('is listening on')) this.#onLine(line);
    });
    const [, url = '', adminUrl = ''] = await started.printed(listening, start_ms);
    started.keepsOutput = false;
    [this.url, this.adminUrl] = [url, adminUrl];
    this.before = await readMetrics(this.adminUrl);
    const absence = this.absences.at(-1);
    if (absence?.until_ms === Number.POSITIVE_INFINITY) absence.until_ms = performance.now();
    this.isUp = true;
  }

  /** Changes the file of the configuration, and reloads it with SIGHUP. Resolves when it is in use. */
  async reload(change: (config: GatewayConfig) => GatewayConfig): Promise<void> {
    this.#changes.push(change);
    const before = await this.#loaded_s();
    await writeFile(this.#file, stringify(this.#placed));
    this.process!.signal('SIGHUP');
    await until(async () => (await this.#loaded_s()) > before, 30_000);
  }

  /** When the configuration was accepted that is in use. */
  async #loaded_s(): Promise<number> {
    const text = await (await fetch(`${this.adminUrl}/metrics`)).text();
    return sumOf(text, 'sluice_config_loaded_timestamp_seconds');
  }

  /** The configuration at the addresses that this instance has had before. */
  get #placed(): GatewayConfig {
    const { server, admin, ...rest } = this.#changes.reduce(
      (config, change) => change(config),
      this.#config(),
    );
    const [port, admin_port] = [portOf(this.url), portOf(this.adminUrl)];
    return { ...rest, server: { ...server, port }, admin: { ...admin, port: admin_port } };
  }

  override async kill(): Promise<void> {
    this.#notePeak();
    this.#wanted = undefined;
    this.#leave();
    await super.kill();
  }

  /** The processes of its workers, in the order of their starts. */
  get workers(): readonly number[] {
    const children = readFileSync(`/proc/${this.pid}/task/${this.pid}/children`, 'latin1');
    return children.split(' ').map(Number).filter(Boolean);
  }

  /** SIGKILL. Resolves when all workers serve again; what this one did ends with it, and a moment later its clients have noticed. */
  async replaceWorker(pid: number): Promise<void> {
    process.kill(pid, 'SIGKILL');
    const absence = { from_ms: performance.now(), until_ms: Number.POSITIVE_INFINITY };
    this.absences.push(absence);
    await until(() => !this.workers.includes(pid), 60_000);
    absence.until_ms = performance.now() + noticed_ms;
    await until(() => this.#isWhole(), 60_000);
  }

  /** Whether all of its workers serve. */
  async #isWhole(): Promise<boolean> {
    const text = await (await fetch(`${this.adminUrl}/readyz`)).text();
    const [, ready, all] = /(\d+) of (\d+) workers/.exec(text) ?? [];
    return ready !== undefined && ready === all;
  }

  /** A new process at the same address, which needs `reuse_port`, and then SIGTERM to the old one. */
  async handOver(): Promise<void> {
    const old = this.process!;
    this.#notePeak();
    await this.start();
    await this.#end(old);
  }

  async restart(): Promise<void> {
    await this.stop();
    await this.start();
  }

  /** SIGTERM; SIGKILL when that takes too long, which is a bad end. */
  async stop(): Promise<void> {
    this.isUp = false;
    if (!this.process || this.process.hasEnded()) return;
    this.#notePeak();
    this.#wanted = undefined;
    await this.#end(this.process);
  }

  async #end(old: PrintingProcess): Promise<void> {
    const late = setTimeout(() => old.signal('SIGKILL'), stop_ms);
    old.signal('SIGTERM');
    const code = await old.exited;
    clearTimeout(late);
    if (code !== 0) this.bad_ends.push(`${this.name} was stopped and ended with ${code}`);
  }

  /** Keeps the resident memory when it is the most so far. */
  #notePeak(): void {
    const kibibytes = /^VmHWM:\s+(\d+) kB/m.exec(readFileSync(`/proc/${this.pid}/status`, 'latin1'))?.[1];
    this.peak_rss_bytes = Math.max(this.peak_rss_bytes, Number(kibibytes) * 1024);
  }

  #leave(): void {
    this.isUp = false;
    this.absences.push({ from_ms: performance.now(), until_ms: Number.POSITIVE_INFINITY });
  }
}
