import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { setTimeout as after } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { stringify } from 'yaml';
import type { GatewayConfig } from '../../src/config/schema.ts';
import { readVitals, type Vitals } from './vitals.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const start_ms = 60_000;
const stop_ms = 60_000;

/** A period in which an instance was down, on `performance.now()`. */
interface Absence {
  readonly from_ms: number;
  until_ms: number;
}

/** One instance of the sidecar, which keeps its address when it is started again. */
export class GatewayProcess {
  readonly name: string;
  url = '';
  adminUrl = '';
  /** What it has printed on standard error. */
  complaints = '';
  /** Requests may be sent to it. */
  isUp = false;
  /** Stopped by a signal: it answers nothing. */
  isPaused = false;
  /** Idle, after its last start. */
  before: Vitals | undefined;
  readonly absences: Absence[] = [];
  /** Whether it ended in another way than requested. */
  readonly bad_ends: string[] = [];
  /** The most resident memory that any of its processes has had. */
  peak_rss_bytes = 0;
  readonly #file: string;
  readonly #config: () => GatewayConfig;
  readonly #onLine: (line: string) => void;
  #child: ChildProcess | undefined;
  #isWanted = false;

  constructor(name: string, directory: string, config: () => GatewayConfig, onLine: (line: string) => void) {
    this.name = name;
    this.#file = `${directory}/${name}.yaml`;
    this.#config = config;
    this.#onLine = onLine;
  }

  get pid(): number {
    return this.#child?.pid ?? 0;
  }

  async start(): Promise<void> {
    const { server, admin, ...rest } = this.#config();
    const port = this.url === '' ? 0 : Number(new URL(this.url).port);
    const admin_port = this.adminUrl === '' ? 0 : Number(new URL(this.adminUrl).port);
    const config = { ...rest, server: { ...server, port }, admin: { ...admin, port: admin_port } };
    writeFileSync(this.#file, stringify(config));
    const args = ['--conditions=sluice-source', 'src/cli/sidecar.ts', '--config', this.#file];
    const child = spawn(process.execPath, args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] });
    this.#child = child;
    this.#isWanted = true;
    child.once('exit', (code, signal) => this.#ended(child, code ?? signal));
    child.stderr.setEncoding('utf8').on('data', text => {
      this.complaints = (this.complaints + text).slice(0, 10_000);
    });
    [this.url, this.adminUrl] = await this.#listening(child);
    this.before = await readVitals(this.adminUrl);
    const absence = this.absences.at(-1);
    if (absence?.until_ms === Number.POSITIVE_INFINITY) absence.until_ms = performance.now();
    this.isUp = true;
  }

  /** SIGKILL. */
  async kill(): Promise<void> {
    this.#leave();
    const exited = once(this.#child!, 'exit');
    this.#child?.kill('SIGKILL');
    await exited;
  }

  /** SIGSTOP; it goes on being sent requests. */
  pause(): void {
    this.isPaused = true;
    this.#child?.kill('SIGSTOP');
  }

  /** SIGCONT. */
  resume(): void {
    this.#child?.kill('SIGCONT');
    this.isPaused = false;
  }

  /** A new process at the same address, which needs `reuse_port`, and then SIGTERM to the old one. */
  async handOver(): Promise<void> {
    const old = this.#child!;
    this.#notePeak();
    await this.start();
    await this.#end(old);
  }

  /** SIGTERM; SIGKILL when that takes too long, which is a bad end. */
  async stop(): Promise<void> {
    const child = this.#child;
    this.isUp = false;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    this.#notePeak();
    this.#isWanted = false;
    await this.#end(child);
  }

  async #end(child: ChildProcess): Promise<void> {
    const over = new AbortController();
    const closed = once(child, 'close').then(() => over.abort());
    child.kill('SIGTERM');
    await after(stop_ms, undefined, over).then(
      () => child.kill('SIGKILL'),
      () => {},
    );
    await closed;
    const how = child.exitCode ?? child.signalCode;
    if (how !== 0) this.bad_ends.push(`${this.name} was stopped and ended with ${how}`);
  }

  /** Resident memory now; kept when it is the most so far. */
  #notePeak(): void {
    const kibibytes = /^VmHWM:\s+(\d+) kB/m.exec(readFileSync(`/proc/${this.pid}/status`, 'latin1'))?.[1];
    this.peak_rss_bytes = Math.max(this.peak_rss_bytes, Number(kibibytes) * 1024);
  }

  #leave(): void {
    this.#notePeak();
    this.isUp = false;
    this.#isWanted = false;
    this.absences.push({ from_ms: performance.now(), until_ms: Number.POSITIVE_INFINITY });
  }

  #ended(child: ChildProcess, how: number | string | null): void {
    if (child !== this.#child || !this.#isWanted) return;
    this.isUp = false;
    this.bad_ends.push(`${this.name} ended by itself with ${how}: ${this.complaints.slice(-2000)}`);
    this.absences.push({ from_ms: performance.now(), until_ms: Number.POSITIVE_INFINITY });
  }

  async #listening(child: ChildProcess): Promise<[string, string]> {
    const over = new AbortController();
    const listening = new Promise<[string, string]>(resolve => {
      createInterface({ input: child.stdout! }).on('line', line => {
        const match = /listening on (http:\/\/\S+) \(admin: (http:\/\/[^\s)]+)\)/.exec(line);
        if (match) resolve([match[1]!, match[2]!]);
        else this.#onLine(line);
      });
    });
    const ended = once(child, 'exit', over).then(() => 'ended');
    const late = after(start_ms, 'does not listen', over);
    const failed = Promise.race([ended, late]).then(why => {
      throw new Error(`${this.name} ${why}: ${this.complaints}`);
    });
    failed.catch(() => {});
    return Promise.race([listening, failed]).finally(() => over.abort());
  }
}

/** Moves a process to these cores, if the machine allows it. */
export function onCores(cores: string, pid: number): void {
  try {
    execFileSync('taskset', ['-acp', cores, String(pid)], { stdio: 'ignore' });
  } catch {
    // Without taskset, or with one core, everything shares what there is.
  }
}
