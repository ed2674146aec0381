import { setTimeout as after } from 'node:timers/promises';
import { Dice } from '../../../src/simulator/seed.ts';
import { Client } from './clients/client.ts';
import { Deployment } from './deployment.ts';
import { LedgerComparison } from './ledger-comparison.ts';
import { type ProcessMetrics, readMetrics } from './process-metrics.ts';
import type { Check, Clients, Findings, RunOptions, Scenario } from './scenario.ts';
import { checksOf, leftovers } from './verdict.ts';

/** Milliseconds within which gateways must be back in their idle state. */
const settling_ms = 30_000;
const rows_per_page = 10_000;

/** One scenario, and whether what is promised held. */
export interface Result {
  readonly scenario: Scenario;
  readonly checks: readonly Check[];
  readonly findings: Findings;
}

/** Starts the servers of a scenario, runs its clients and faults, and checks what is promised. */
export async function runScenario(scenario: Scenario, options: RunOptions): Promise<Result> {
  const comparison = new LedgerComparison();
  const deployment = new Deployment(scenario.servers ?? {}, comparison, options);
  try {
    await deployment.start();
    const load = await underLoad(scenario, deployment, comparison);
    const end = await untilIdle(deployment, comparison);
    await Promise.all(deployment.gateways.map(each => each.stop()));
    await readLedger(deployment, comparison);
    const findings = { ...load, deployment, comparison, end };
    return { scenario, findings, checks: await checksOf(scenario, findings, options) };
  } finally {
    await deployment.stop();
  }
}

async function underLoad(scenario: Scenario, deployment: Deployment, comparison: LedgerComparison) {
  const { clients, drive } = scenario;
  const { load } = deployment.options;
  const over = new AbortController();
  const client = new Client(over.signal);
  const samples: ProcessMetrics[] = [];
  const begun_ms = performance.now();
  const workers = clients
    .flatMap(group => Array.from({ length: Math.ceil(group.count * load) }, () => group))
    .map((group, worker) => work(group, worker, client, deployment, comparison, over.signal));
  const sampling = sample(deployment, samples, over.signal);
  try {
    const driven = drive?.(deployment, comparison);
    const [figures = {}, steps_ms] = await Promise.all([driven, inTurn(scenario, deployment)]);
    return { figures, steps_ms, samples, begun_ms, seconds: (performance.now() - begun_ms) / 1000 };
  } finally {
    over.abort();
    await Promise.all([...workers, sampling]);
    client.close();
  }
}

/** Performs one step after the other, and waits for what is left of the time. Resolves with when they were done. */
async function inTurn({ steps = [] }: Scenario, deployment: Deployment): Promise<number[]> {
  const run_ms = deployment.options.seconds * 1000;
  const steps_ms: number[] = [];
  deployment.steps_left = steps.length;
  for (const step of steps) {
    await after(step.after * run_ms);
    await step.act(deployment);
    steps_ms.push(performance.now());
    deployment.steps_left--;
  }
  await after(steps.reduce((left, step) => left - step.after, 1) * run_ms);
  return steps_ms;
}

/** Sends one request after another, of random kinds. */
async function work(
  { kinds, pause_ms = 40 }: Clients,
  worker: number,
  client: Client,
  deployment: Deployment,
  comparison: LedgerComparison,
  over: AbortSignal,
): Promise<void> {
  const dice = new Dice(deployment.options.seed * 1000 + worker);
  const total = kinds.reduce((sum, { weight }) => sum + weight, 0);
  for (let n = 0; !over.aborted; n++) {
    let left = dice.roll() * total;
    const kind = kinds.find(({ weight }) => (left -= weight) < 0) ?? kinds[0]!;
    const id = `x${worker}-${n}`;
    const request = kind.make(dice, id);
    const gateway = deployment.pickGateway();
    const recorded = comparison.begin(id, kind, request, gateway);
    comparison.end(id, await client.send(request, id, gateway.url, recorded));
    await after(dice.integer(0, pause_ms));
  }
}

/** Samples the metrics of the first gateway while it runs. */
async function sample(
  { gateways: [gateway], options }: Deployment,
  samples: ProcessMetrics[],
  signal: AbortSignal,
): Promise<void> {
  const pause_ms = Math.min(5000, Math.max(100, options.seconds * 8));
  while (!signal.aborted) {
    // An instance that has ended gives none; that is reported elsewhere.
    const metrics = gateway?.isUp && !gateway.isPaused && readMetrics(gateway.adminUrl).catch(() => {});
    const read = await metrics;
    if (read) samples.push(read);
    await after(pause_ms, undefined, { signal }).catch(() => {});
  }
}

/** The metrics of the gateways once clients and providers are gone and all is idle, or after the time that this may take. */
async function untilIdle({ gateways, providers }: Deployment, comparison: LedgerComparison) {
  const deadline_ms = performance.now() + settling_ms;
  const live = gateways.filter(({ isUp }) => isUp);
  for (let areGone = false; ; await after(100)) {
    const now = await Promise.all(live.map(({ adminUrl }) => readMetrics(adminUrl)));
    const isIdle = now.every(({ in_flight, background, queued }) => in_flight + background + queued === 0);
    const isBack = now.every((metrics, at) => leftovers(metrics, live[at]?.before).length === 0);
    if (isBack && areGone && comparison.missing.length === 0) return now;
    if (performance.now() > deadline_ms) return now;
    if (!isIdle || areGone) continue;
    // Connections that are kept to a provider would be counted as open; it closes them.
    await Promise.all(providers.map(each => each.kill()));
    areGone = true;
  }
}

async function readLedger({ records }: Deployment, comparison: LedgerComparison): Promise<void> {
  await records.look(async store => {
    let last: { started_ms: number; id: string } | undefined;
    do {
      const page = await store.ledger.list({ limit: rows_per_page, ...(last && { after: last }) });
      for (const row of page) comparison.row(row);
      last = page.length === rows_per_page ? page.at(-1) : undefined;
    } while (last);
  });
}
