import { setTimeout as sleep } from 'node:timers/promises';
import { parse } from 'yaml';
import { PrometheusServer } from '../../support/prometheus.ts';
import { fastRules } from './fast-rules.ts';
import type { ProvokedCase, ProvokedService } from './provoked-case.ts';

/** Time without a fault at the beginning. */
const quiet_ms = 6000;
/** Longest wait for an alert to fire, and to be resolved. */
const most_ms = 90_000;
const look_ms = 500;
/** How long the fault of a case lasts that must provoke no alert: longer than the windows of most alerts and their `for`. */
const calm_fault_ms = 18_000;

/** What one case has shown; without faults it went as it must. */
export interface CaseResult {
  readonly job: string;
  readonly faults: readonly string[];
  /** Seconds from the fault until each alert fired, and from its end until it was resolved. */
  readonly seconds: Readonly<Record<string, readonly [fired: number, resolved: number]>>;
}

interface FastRules {
  readonly groups: readonly {
    readonly rules: readonly { readonly alert?: string; readonly for?: string }[];
  }[];
}

/** Runs all cases at the same time, before one Prometheus that has the shipped rules with short times. */
export async function runCases(cases: readonly ProvokedCase[]): Promise<CaseResult[]> {
  const rules = fastRules();
  const waiting = (parse(rules) as FastRules).groups
    .flatMap(group => group.rules)
    .flatMap(({ alert, for: since }) => (alert !== undefined && since !== undefined ? [alert] : []));
  const services: ProvokedService[] = [];
  let prometheus: PrometheusServer | undefined;
  try {
    for (const one of cases) services.push(await one.start());
    const targets = cases.map(({ job }, at) => [job, services[at]!.targets] as const);
    prometheus = await PrometheusServer.startWith(Object.fromEntries(targets), rules);
    const watch = new AlertWatch(prometheus);
    await sleep(quiet_ms);
    const results = await Promise.all(
      cases.map((one, at) => new CaseRun(one, services[at]!, watch, waiting).run()),
    );
    watch.stop();
    return results;
  } finally {
    await prometheus?.close();
    await Promise.all(services.map(service => service.close()));
  }
}

/** Asks Prometheus for its alerts again and again, once for all cases. */
class AlertWatch {
  readonly prometheus: PrometheusServer;
  #firing: ReadonlySet<string> = new Set();
  #stopped = false;

  constructor(prometheus: PrometheusServer) {
    this.prometheus = prometheus;
    void this.#watch();
  }

  /** Whether the alert fires for this job, at the last look. */
  fires(job: string, alert: string): boolean {
    return this.#firing.has(`${job} ${alert}`);
  }

  stop(): void {
    this.#stopped = true;
  }

  async #watch(): Promise<void> {
    while (!this.#stopped) {
      const alerts = await this.prometheus.query('ALERTS{alertstate="firing"}').catch(() => []);
      this.#firing = new Set(alerts.map(({ metric }) => `${metric.job} ${metric.alertname}`));
      await sleep(look_ms);
    }
  }
}

class CaseRun {
  readonly #case: ProvokedCase;
  readonly #service: ProvokedService;
  readonly #watch: AlertWatch;
  readonly #waiting: readonly string[];
  readonly #faults: string[] = [];

  constructor(one: ProvokedCase, service: ProvokedService, watch: AlertWatch, waiting: readonly string[]) {
    this.#case = one;
    this.#service = service;
    this.#watch = watch;
    this.#waiting = waiting;
  }

  /** Goes through the case; what it throws is a fault of it alone. */
  async run(): Promise<CaseResult> {
    try {
      return await this.#run();
    } catch (thrown) {
      return { job: this.#case.job, faults: [...this.#faults, String(thrown)], seconds: {} };
    }
  }

  async #run(): Promise<CaseResult> {
    const { job, alerts } = this.#case;
    const provoked_s = Date.now() / 1000;
    await this.#service.provoke();
    if (alerts.length === 0) await sleep(calm_fault_ms);
    const fired = await this.#all(alerts, 'did not fire', alert => this.#watch.fires(job, alert));
    await this.#service.heal();
    const resolved = await this.#all(alerts, 'was not resolved', alert => !this.#watch.fires(job, alert));
    await this.#lookBack(provoked_s);
    const seconds = alerts.map(alert => [alert, [fired.get(alert) ?? 0, resolved.get(alert) ?? 0]] as const);
    return { job, faults: this.#faults, seconds: Object.fromEntries(seconds) };
  }

  /** Compares with every second that Prometheus has of the job's alerts: looks may miss some. */
  async #lookBack(provoked_s: number): Promise<void> {
    const { job, alerts, never = [] } = this.#case;
    const now_s = Date.now() / 1000;
    const back_s = now_s - provoked_s + quiet_ms / 1000;
    const series = await this.#watch.prometheus.range(`ALERTS{job="${job}"}`, now_s, back_s, 1);
    const since = (alert: string, state: string) =>
      series
        .filter(({ metric }) => metric.alertname === alert && metric.alertstate === state)
        .flatMap(({ values = [] }) => values.map(([at_s]) => at_s));
    for (const alert of new Set(series.map(({ metric }) => metric.alertname ?? '')))
      if (since(alert, 'firing').some(at_s => at_s < provoked_s))
        this.#faults.push(`${alert} fired before the fault`);
    for (const alert of alerts)
      if (this.#waiting.includes(alert) && since(alert, 'pending').length === 0)
        this.#faults.push(`${alert} was never pending`);
    for (const alert of never) if (since(alert, 'firing').length > 0) this.#faults.push(`${alert} fired`);
  }

  /** Waits until `holds` was true of every alert once, and returns after how many seconds. */
  async #all(alerts: readonly string[], fault: string, holds: (alert: string) => boolean) {
    const began_ms = performance.now();
    const since = new Map<string, number>();
    while (since.size < alerts.length) {
      const passed_ms = performance.now() - began_ms;
      for (const alert of alerts)
        if (!since.has(alert) && holds(alert)) since.set(alert, Math.round(passed_ms / 1000));
      if (passed_ms > most_ms) break;
      await sleep(look_ms);
    }
    for (const alert of alerts) if (!since.has(alert)) this.#faults.push(`${alert} ${fault}`);
    return since;
  }
}
