import type { SoakOptions } from './soak-options.ts';
import type { Findings } from './soak-run.ts';
import { trendOf, type Vitals } from './soak-vitals.ts';

/** Something that must hold after a run. */
export interface Check {
  readonly name: string;
  readonly holds: boolean;
  readonly detail: string;
}

/** Everything that must hold. */
export function checksOf(findings: Findings, options: SoakOptions): Check[] {
  const { ledger, before, end, upstream, exit, complaints } = findings;
  const { expected, records, attempts, fault_count, missing } = ledger;
  const limit_files = before.open_files + options.spare_files;
  return [
    check('every reply and record is as expected', fault_count === 0, `${fault_count} are not`),
    check(
      'one record for each exchange',
      expected === records && records === end.exchanges && missing === 0,
      `${expected} exchanges, ${records} records, ${end.exchanges} counted by sluice_requests_total`,
    ),
    check(
      'nothing is left running',
      end.in_flight === 0 && end.background === 0 && upstream.open === 0,
      `${end.in_flight} in flight, ${end.background} read in the background, ${upstream.open} open upstream`,
    ),
    check(
      'no upstream was asked without a record of it',
      upstream.requests <= attempts,
      `${upstream.requests} requests, ${attempts} recorded attempts`,
    ),
    check(
      'connections are closed',
      end.open_files <= limit_files,
      `${end.open_files} open files, ${before.open_files} before`,
    ),
    flat('resident memory is flat', findings, 'rss_bytes', options),
    flat('the heap is flat', findings, 'heap_bytes', options),
    check('it ends in order', exit === 0, `ended with ${exit}`),
    check('it printed no errors', complaints === '', complaints.slice(0, 500) || 'none'),
  ];
}

const check = (name: string, holds: boolean, detail: string): Check => ({ name, holds, detail });

function flat(name: string, { samples }: Findings, quantity: keyof Vitals, { growth }: SoakOptions): Check {
  const { middle, last } = trendOf(samples, quantity);
  const detail = `median ${mebibytes(middle)} in the second third of the run, ${mebibytes(last)} in the last`;
  return check(name, samples.length >= 9 && last <= middle * growth.ratio + growth.bytes, detail);
}

export const mebibytes = (bytes: number): string => `${(bytes / 1024 / 1024).toFixed(0)} MiB`;
