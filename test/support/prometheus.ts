import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from './free-port.ts';
import { pathOf } from './programs.ts';
import { until } from './until.ts';

const shippedRules = readFileSync(new URL('../../grafana/alerts/sluice.rules.yaml', import.meta.url), 'utf8');

/** A series of an answer: its labels, and its points as seconds and values. */
export interface PrometheusSeries {
  readonly metric: Readonly<Record<string, string>>;
  readonly value?: readonly [number, string];
  readonly values?: readonly (readonly [number, string])[];
}

/** A real Prometheus in a folder of its own. */
export class PrometheusServer {
  readonly url: string;
  readonly #process: ChildProcess;
  readonly #folder: string;
  #output = '';

  /** Scrapes the admin listeners `targets` every second, as job `sluice`, and `others` as job `another`, with the alert rules loaded. */
  static start(targets: readonly string[], others: readonly string[] = []): Promise<PrometheusServer> {
    return PrometheusServer.startWith({ sluice: targets, another: others }, shippedRules);
  }

  /** Scrapes the targets of each job every second, and evaluates these rules as often. */
  static async startWith(
    targets: Readonly<Record<string, readonly string[]>>,
    rules: string,
  ): Promise<PrometheusServer> {
    const server = new PrometheusServer(targets, rules, await freePort());
    await server.#ready();
    return server;
  }

  private constructor(targets: Readonly<Record<string, readonly string[]>>, rules: string, port: number) {
    this.#folder = mkdtempSync(join(tmpdir(), 'sluice-prometheus-'));
    this.url = `http://127.0.0.1:${port}`;
    const config = join(this.#folder, 'prometheus.yml');
    const interval = '{ scrape_interval: 1s, evaluation_interval: 1s }';
    const jobs = Object.entries(targets)
      .map(([name, urls]) => jobOf(name, urls))
      .join('\n');
    writeFileSync(join(this.#folder, 'rules.yaml'), rules);
    writeFileSync(config, `global: ${interval}\nrule_files: ["rules.yaml"]\nscrape_configs:\n${jobs}\n`);
    this.#process = spawn(
      pathOf('prometheus'),
      [
        `--config.file=${config}`,
        `--storage.tsdb.path=${join(this.#folder, 'data')}`,
        `--web.listen-address=127.0.0.1:${port}`,
        '--enable-feature=exemplar-storage',
        '--log.level=warn',
      ],
      { stdio: ['ignore', 'ignore', 'pipe'] },
    );
    this.#process.stderr?.setEncoding('utf8').on('data', text => (this.#output += text));
  }

  /** What the query gives now, or gave at `at_s` since 1970. Throws with Prometheus's own message when it is wrong. */
  query(expr: string, at_s?: number): Promise<readonly PrometheusSeries[]> {
    return this.#ask('query', { query: expr, ...(at_s !== undefined && { time: `${at_s}` }) });
  }

  /** The same over the `seconds` up to `end`, in seconds since 1970, a point for every `step_s`. */
  range(expr: string, end: number, seconds: number, step_s: number): Promise<readonly PrometheusSeries[]> {
    return this.#ask('query_range', {
      query: expr,
      start: `${end - seconds}`,
      end: `${end}`,
      step: `${step_s}`,
    });
  }

  /** The values of a label among the series that `match`. */
  labelValues(label: string, match: string): Promise<readonly string[]> {
    return this.#ask(`label/${label}/values`, { 'match[]': match });
  }

  /** The exemplars of a query's series over the last `seconds`. */
  async exemplars(expr: string, seconds: number): Promise<readonly { exemplars: readonly object[] }[]> {
    const end = Date.now() / 1000;
    return this.#ask('query_exemplars', { query: expr, start: `${end - seconds}`, end: `${end}` });
  }

  async close(): Promise<void> {
    const exited = new Promise(resolve => this.#process.once('exit', resolve));
    this.#process.kill('SIGTERM');
    await exited;
    rmSync(this.#folder, { recursive: true, force: true });
  }

  async #ask<T>(what: string, parameters: Record<string, string>): Promise<T> {
    const response = await fetch(`${this.url}/api/v1/${what}?${new URLSearchParams(parameters)}`);
    const body = (await response.json()) as { status: string; error?: string; data: T & { result?: T } };
    if (body.status !== 'success') throw new Error(`${parameters.query}: ${body.error}`);
    return body.data.result ?? body.data;
  }

  async #ready(): Promise<void> {
    const hasEnded = () => this.#process.exitCode !== null;
    const serves = async () => (await fetch(`${this.url}/-/ready`).catch(() => undefined))?.ok;
    await until(async () => hasEnded() || ((await serves()) ?? false), 20_000).catch(() => {});
    if (!(await serves())) throw new Error(`prometheus did not start: ${this.#output}`);
  }
}

function jobOf(name: string, targets: readonly string[]): string {
  const hosts = targets.map(target => `"${new URL(target).host}"`).join(', ');
  return `  - { job_name: ${name}, static_configs: [{ targets: [${hosts}] }] }`;
}

/** Runs promtool, with `input` on its standard input. */
export function promtool(args: readonly string[], input = ''): Promise<{ code: number; output: string }> {
  return new Promise(resolve => {
    const child = execFile(pathOf('promtool'), args, (error, stdout, stderr) =>
      resolve({ code: error ? Number(error.code ?? 1) : 0, output: stdout + stderr }),
    );
    child.stdin?.end(input);
  });
}
