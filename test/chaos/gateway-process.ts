import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { stringify } from 'yaml';
import type { GatewayConfig } from '../../src/config/schema.ts';
import type { PrintingProcess } from '../support/printing-process.ts';
import { configFile } from '../support/sidecar-process.ts';
import { type ProcessMetrics, readMetrics } from './process-metrics.ts';
import { portOf, ServerProcess, start_ms } from './server-process.ts';

const stop_ms = 60_000;
const listening = /listening on (http:\/\/\S+) \(admin: (http:\/\/[^\s)]+)\)/;

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
    const { server, admin, ...rest } = this.#config();
    const [port, admin_port] = [portOf(this.url), portOf(this.adminUrl)];
    const config = { ...rest, server: { ...server, port }, admin: { ...admin, port: admin_port } };
    const { file, remove } = await configFile(stringify(config));
    const started = this.spawn(['src/cli/sidecar.ts', '--config', file], ['ignore', 'pipe', 'pipe']);
    this.#wanted = started;
    this.#processes.push(started);
    void started.exited.finally(remove).then(code => {
      if (started !== this.#wanted) return;
      this.#leave();
      this.bad_ends.push(`${this.name} ended by itself with ${code}: ${started.stderr.slice(-2000)}`);
    });
    createInterface({ input: started.child.stdout! }).on('line', line => {
      if (!listening.test(line)) this.#onLine(line);
    });
    const [, url = '', adminUrl = ''] = await started.printed(listening, start_ms);
    started.keepsOutput = false;
    [this.url, this.adminUrl] = [url, adminUrl];
    this.before = await readMetrics(this.adminUrl);
    const absence = this.absences.at(-1);
    if (absence?.until_ms === Number.POSITIVE_INFINITY) absence.until_ms = performance.now();
    this.isUp = true;
  }

  override async kill(): Promise<void> {
    this.#notePeak();
    this.#wanted = undefined;
    this.#leave();
    await super.kill();
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
