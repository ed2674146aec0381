import { median } from '../bench/statistics.ts';
import { type Check, check, type Findings, type RunOptions, type Scenario } from './scenario.ts';
import type { Vitals } from './vitals.ts';
import { account } from './world.ts';

/** Opened with the first use and kept: connections of pools, the ledger's queue on disk. What every exchange left would be thousands. */
export const spare = { open_files: 32, timers: 16 };
const default_slowest_ms = 15_000;
const default_peak_mb = 600;

/** Checks that must hold after every run. Call once all processes except the stores have ended. */
export async function checksOf(
  scenario: Scenario,
  findings: Findings,
  options: RunOptions,
): Promise<Check[]> {
  const { world, books } = findings;
  const { missing, lost, doubled, fault_count, alarms } = books;
  const gone = books.lost_with_instances;
  const unexpected = [...alarms].filter(([message]) => !scenario.alarms?.test(message));
  const ends = world.gateways.flatMap(({ bad_ends }) => bad_ends);
  const complaints = world.gateways.map(each => each.complaints).join('');
  return [
    check('replies, records and tokens are as expected', fault_count === 0, `${fault_count} are not`),
    check('one record for each exchange', missing.length === 0, `${shown(missing)} missing`),
    check(
      'LOST',
      lost.length === 0,
      `${shown(lost)}; ${gone.count} with a killed instance, up to ${gone.oldest_ms} ms old`,
    ),
    check('DOUBLED', doubled.length === 0, shown(doubled)),
    check('good clients were served', books.waits_ms.length > 0, `${books.waits_ms.length} whole answers`),
    ...(await sums(scenario, findings)),
    ...resources(findings),
    patience(scenario, findings),
    memory(scenario, findings),
    check(
      'no unexpected alarms',
      unexpected.length === 0,
      `${shown(unexpected.map(([message, times]) => `${times} × ${message}`))}; ${alarms.size - unexpected.length} kinds are expected`,
    ),
    check('gateways end in order', ends.length === 0, shown(ends)),
    check('nothing on standard error', complaints === '', shown(complaints ? [complaints] : [])),
    ...(scenario.checks?.(findings, options) ?? []),
  ];
}

const shown = (list: readonly string[]): string =>
  list.length === 0 ? '0' : `${list.length}: ${list.slice(0, 3).join(' | ').slice(0, 600)}`;

/** Sums of the ledger, and of the limits, against its rows. */
async function sums({ exact_limits }: Scenario, { world, books }: Findings): Promise<Check[]> {
  const [sum] = await world.look(store => store.usage.sum({ account, by: [] }));
  const summed = (sum?.prompt_tokens ?? 0) + (sum?.completion_tokens ?? 0);
  const name = "the ledger's sums are those of its rows";
  const checks = [check(name, summed === books.row_tokens, `${summed} and ${books.row_tokens} tokens`)];
  const redis = world.redis.at(-1);
  if (!redis || exact_limits === false) return checks;
  const used = Number(await redis.cli('HGET', `sluice:{${account}}:tokens_per_day`, 'used'));
  const detail = `${used} counted, ${books.row_tokens} in the ledger`;
  return [...checks, check('limits have counted what the ledger has', used === books.row_tokens, detail)];
}

/** Everything that a gateway opens is closed again. */
function resources({ world, end }: Findings): Check[] {
  const left = (name: keyof Vitals) => end.reduce((sum, vitals) => sum + Number(vitals[name]), 0);
  const more = (name: keyof typeof spare) =>
    world.gateways.map(({ before }, at) => ({
      holds: (end[at]?.[name] ?? Number.POSITIVE_INFINITY) <= (before?.[name] ?? 0) + spare[name],
      detail: `${before?.[name]} → ${end[at]?.[name]}`,
    }));
  const back = (title: string, name: keyof typeof spare) => {
    const each = more(name);
    const detail = each.map(one => one.detail).join(', ');
    return check(
      title,
      each.every(({ holds }) => holds),
      detail,
    );
  };
  const running = left('in_flight') + left('background') + left('queued');
  const [flying, reading, rows] = [left('in_flight'), left('background'), left('queued')];
  return [
    check(
      'nothing is left running',
      running === 0,
      `${flying} in flight, ${reading} read in the background, ${rows} rows wait`,
    ),
    back('files and sockets are closed', 'open_files'),
    back('timers have ended', 'timers'),
  ];
}

function patience({ slowest_good_ms = default_slowest_ms }: Scenario, { books }: Findings): Check {
  const { slowest_ms, p99_ms } = waitsOf(books.waits_ms);
  const detail = `slowest ${slowest_ms.toFixed(0)} ms, p99 ${p99_ms.toFixed(0)} ms`;
  return check('no good client waits too long', slowest_ms <= slowest_good_ms, detail);
}

export function waitsOf(waits_ms: readonly number[]): { slowest_ms: number; p99_ms: number } {
  const sorted = waits_ms.toSorted((a, b) => a - b);
  return { slowest_ms: sorted.at(-1) ?? 0, p99_ms: sorted[Math.ceil(sorted.length * 0.99) - 1] ?? 0 };
}

function memory({ peak_rss_mb = default_peak_mb }: Scenario, { world }: Findings): Check {
  const peaks_mb = world.gateways.map(({ peak_rss_bytes }) => Math.round(peak_rss_bytes / 2 ** 20));
  return check(
    'memory is bounded',
    Math.max(...peaks_mb) <= peak_rss_mb,
    `at most ${peaks_mb.join(', ')} MiB`,
  );
}

/** Whether the last third of a run needs no more than the second; the first third warms up. */
export function flat(
  name: string,
  { samples }: Findings,
  quantity: 'rss_bytes' | 'heap_bytes',
  growth: { readonly ratio: number; readonly bytes: number },
): Check {
  const values = samples.map(sample => sample[quantity]);
  const third = Math.floor(values.length / 3);
  const [middle, last] = [median(values.slice(third, 2 * third)), median(values.slice(2 * third))];
  const mib = (bytes: number) => `${(bytes / 2 ** 20).toFixed(0)} MiB`;
  const detail = `median ${mib(middle)} in the second third of the run, ${mib(last)} in the last`;
  return check(name, samples.length >= 9 && last <= middle * growth.ratio + growth.bytes, detail);
}
