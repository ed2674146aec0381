import { setTimeout as sleep } from 'node:timers/promises';
import { parse } from 'yaml';
import { PrometheusServer } from '../support/prometheus.ts';
import { fastRules } from './fast-rules.ts';
import type { ProvokedCase, ProvokedService } from './provoked-case.ts';

/** Time without a fault at the beginning. */
const quiet_ms = 6000;
/** Longest wait for an alert to fire, and to be resolved. */
const most_ms = 90_000;
const look_ms = 500;

/** Alerts of a job, as Prometheus had them at one time. */
type Seen = Readonly<Record<'pending' | 'firing', readonly string[]>>;

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
    const timeline = new AlertTimeline(prometheus);
    await sleep(quiet_ms);
    const results = await Promise.all(
      cases.map((one, at) => new CaseRun(one, services[at]!, timeline, waiting).run()),
    );
    timeline.stop();
    return results;
  } finally {
    await prometheus?.close();
    await Promise.all(services.map(service => service.close()));
  }
}

/** Asks Prometheus for its alerts again and again. */
class AlertTimeline {
  readonly #prometheus: PrometheusServer;
  readonly #looks: Map<string, Seen>[] = [];
  #stopped = false;

  constructor(prometheus: PrometheusServer) {
    this.#prometheus = prometheus;
    void this.#watch();
  }

  /** The alerts of `job` at every look so far. */
  of(job: string): Seen[] {
    return this.#looks.map(look => look.get(job) ?? { pending: [], firing: [] });
  }

  now(job: string): Seen {
    return this.of(job).at(-1) ?? { pending: [], firing: [] };
  }

  stop(): void {
    this.#stopped = true;
  }

  async #watch(): Promise<void> {
    while (!this.#stopped) {
      const alerts = await this.#prometheus.query('ALERTS').catch(() => []);
      const look = new Map<string, { pending: string[]; firing: string[] }>();
      for (const { metric } of alerts) {
        const { job = '', alertname = '', alertstate } = metric;
        const seen = look.get(job) ?? { pending: [], firing: [] };
        look.set(job, seen);
        seen[alertstate === 'firing' ? 'firing' : 'pending'].push(alertname);
      }
      this.#looks.push(look);
      await sleep(look_ms);
    }
  }
}

class CaseRun {
  readonly #case: ProvokedCase;
  readonly #service: ProvokedService;
  readonly #timeline: AlertTimeline;
  readonly #waiting: readonly string[];
  readonly #faults: string[] = [];

  constructor(
    one: ProvokedCase,
    service: ProvokedService,
    timeline: AlertTimeline,
    waiting: readonly string[],
  ) {
    this.#case = one;
    this.#service = service;
    this.#timeline = timeline;
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
    const { job, alerts, never = [] } = this.#case;
    const early = this.#timeline.of(job).flatMap(({ firing }) => firing);
    if (early.length > 0) this.#faults.push(`fired before the fault: ${[...new Set(early)]}`);
    await this.#service.provoke();
    const fired = await this.#all(alerts, 'did not fire', alert => this.#has(alert));
    await this.#service.heal();
    const resolved = await this.#all(alerts, 'was not resolved', alert => !this.#has(alert));
    const seen = this.#timeline.of(job);
    for (const alert of alerts)
      if (this.#waiting.includes(alert) && !seen.some(({ pending }) => pending.includes(alert)))
        this.#faults.push(`${alert} was never pending`);
    for (const alert of never)
      if (seen.some(({ firing }) => firing.includes(alert))) this.#faults.push(`${alert} fired`);
    const seconds = alerts.map(alert => [alert, [fired.get(alert) ?? 0, resolved.get(alert) ?? 0]] as const);
    return { job, faults: this.#faults, seconds: Object.fromEntries(seconds) };
  }

  #has(alert: string): boolean {
    return this.#timeline.now(this.#case.job).firing.includes(alert);
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
