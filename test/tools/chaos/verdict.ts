import { picoUsd } from '../../../src/common/money.ts';
import { quantile, thirdsOf } from '../figures.ts';
import { account } from './deployment.ts';
import type { ProcessMetrics } from './process-metrics.ts';
import { type Check, check, type Findings, type RunOptions, type Scenario } from './scenario.ts';

/** Opened with the first use and kept: connections of pools, the ledger's queue on disk. What every exchange left would be thousands. */
const spare = { open_files: 32, timers: 16 };
/** What must be at zero when all clients have gone. */
const pending = ['in_flight', 'background', 'queued'] as const;

/** Quantities of an idle gateway that differ from what they were before the load, or must be zero. */
export function leftovers(now: ProcessMetrics | undefined, before: ProcessMetrics | undefined): string[] {
  if (!now) return ['no metrics'];
  const most = (name: keyof typeof spare) => (before?.[name] ?? 0) + spare[name];
  return [
    ...pending.filter(name => now[name] > 0).map(name => `${now[name]} ${name}`),
    ...(['open_files', 'timers'] as const)
      .filter(name => now[name] > most(name))
      .map(name => `${now[name]} ${name} instead of ${before?.[name]}`),
  ];
}

/** Checks that must hold after every run. Call once all processes except the stores have ended. */
export async function checksOf(
  scenario: Scenario,
  findings: Findings,
  options: RunOptions,
): Promise<Check[]> {
  const { slowest_good_ms = 15_000, peak_rss_mb = 600, exact_limits = true } = scenario;
  const { deployment, comparison, end } = findings;
  const { gateways, redis } = deployment;
  const { faults, missing, lost, doubled, alarms, waits_ms, row_tokens } = comparison;
  const gone = comparison.lost_with_instances;
  const unexpected = [...alarms].filter(([message]) => !scenario.alarms?.test(message));
  const [sum] = await deployment.records.look(store => store.usage.sum({ account, by: [] }));
  const counted = await redis.at(-1)?.cli('HGET', `sluice:{${account}}:tokens_per_day`, 'used');
  const { slowest_ms } = waitsOf(waits_ms);
  return [
    none('replies, records and tokens are as expected', faults, ` of ${comparison.fault_count}`),
    none('one record for each exchange', missing),
    none('LOST', lost, `; ${gone.count} with a killed instance, up to ${gone.oldest_ms} ms old`),
    none('DOUBLED', doubled),
    check('well-behaved clients were served', waits_ms.length > 0, `${waits_ms.length} whole answers`),
    equal(
      "the ledger's sums are those of its rows",
      (sum?.prompt_tokens ?? 0) + (sum?.completion_tokens ?? 0),
      row_tokens,
    ),
    equal(
      "the ledger's costs are those of its rows, e-12 dollars",
      picoUsd(sum?.cost_usd ?? '0'),
      comparison.row_cost,
    ),
    ...(counted !== undefined && exact_limits
      ? [equal('limits have counted what the ledger has', Number(counted), row_tokens)]
      : []),
    none(
      'nothing is left running or open',
      gateways.flatMap(({ before }, at) => leftovers(end[at], before)),
    ),
    atMost('no well-behaved client waits too long, ms', slowest_ms, slowest_good_ms),
    atMost('memory is bounded, MiB', Math.max(...peaksOf(findings)), peak_rss_mb),
    none(
      'no unexpected alarms',
      unexpected.map(([message, times]) => `${times} × ${message}`),
      `; ${alarms.size - unexpected.length} kinds are expected`,
    ),
    none(
      'gateways end in order',
      gateways.flatMap(({ bad_ends }) => bad_ends),
    ),
    none('nothing on standard error', gateways.map(({ errors }) => errors).filter(Boolean)),
    ...(scenario.checks?.(findings, options) ?? []),
  ];
}

const none = (name: string, found: readonly string[], more = ''): Check => {
  const shown = found.length === 0 ? '' : `: ${found.slice(0, 3).join(' | ').slice(0, 600)}`;
  return check(name, found.length === 0, `${found.length}${shown}${more}`);
};

export const equal = (name: string, value: number | bigint, expected: number | bigint): Check =>
  check(name, value === expected, `${value} and ${expected}`);

const atMost = (name: string, value: number, most: number): Check =>
  check(name, value <= most, `${value.toFixed(0)} of ${most}`);

/** The longest wait of a well-behaved client, and the 99th percentile. */
export const waitsOf = (waits_ms: readonly number[]): { slowest_ms: number; p99_ms: number } => ({
  slowest_ms: quantile(waits_ms, 1) || 0,
  p99_ms: quantile(waits_ms, 0.99) || 0,
});

/** The most resident memory of each gateway, in MiB. */
export const peaksOf = ({ deployment: { gateways } }: Findings): number[] =>
  gateways.map(({ peak_rss_bytes }) => Math.round(peak_rss_bytes / 2 ** 20));

/** Whether the last third of a run needs no more than the second; the first third warms up. */
export function flat(
  name: string,
  values: readonly number[],
  growth: { readonly ratio: number; readonly bytes: number },
): Check {
  const { before, after } = thirdsOf(values);
  const [before_mib, after_mib] = [before, after].map(bytes => (bytes / 2 ** 20).toFixed(0));
  const detail = `median ${before_mib} MiB in the second third of the run, ${after_mib} in the last`;
  return check(name, after <= before * growth.ratio + growth.bytes, detail);
}
