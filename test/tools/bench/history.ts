import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { markdownTable } from '../figures.ts';
import type { Machine } from '../machine.ts';
import { root } from './contestants.ts';
import type { Figures } from './result-table.ts';

/** Figures of one section of docs/performance.md, as they were once. */
export interface HistoryRecord {
  readonly section: string;
  /** Day, as in 2026-11-23. */
  readonly date: string;
  readonly commit: string;
  /** Processor, cores and versions. */
  readonly machine: string;
  readonly command: string;
  /** What was special about it, such as the run that several commits were compared in. */
  readonly note?: string;
  /** By contestant. */
  readonly figures: Readonly<Record<string, Figures>>;
}

const file = join(root, 'test/tools/bench/history.json');

/** All records, oldest first. */
export const readHistory = (): HistoryRecord[] => JSON.parse(readFileSync(file, 'utf8'));

/** Puts a record behind the others; one of the same section, day and commit makes way for it. */
export function addToHistory(record: HistoryRecord): void {
  const isSame = ({ section, date, commit }: HistoryRecord) =>
    section === record.section && date === record.date && commit === record.commit;
  const kept = readHistory().filter(known => !isSame(known));
  writeFileSync(file, `${JSON.stringify([...kept, record], null, 2)}\n`);
}

/** The commit that is checked out, with a `+` if files differ from it. */
export function currentCommit(): string {
  const git = (...args: string[]) => execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim();
  const isChanged = git('status', '--porcelain', '--untracked-files=no') !== '';
  return git('rev-parse', '--short=7', 'HEAD') + (isChanged ? '+' : '');
}

/** Processor, cores and versions, in one line. */
export function machineOf({ cpu, cores, kernel, node }: Machine): string {
  const [version] = /^Linux \d+\.\d+/.exec(kernel) ?? [kernel];
  return `${cpu}, ${cores} cores, ${version}, Node ${node.replace(/^v/, '')}`;
}

const shown = (value: number | undefined): string => (value === undefined ? '–' : `${value.toFixed(2)}×`);

/** How the sidecar stood to http-proxy-middleware and to Portkey in every record, as a table in Markdown. */
export function historyTable(records: readonly HistoryRecord[]): string {
  const rows = records.flatMap(({ section, date, commit, machine, figures }) => {
    const { sluice, portkey } = figures;
    if (section !== 'gateways' || !sluice) return [];
    const { requests_per_s_ratio: own, cpu_us_per_request_ratio, cpu_us_per_event_ratio } = sluice;
    const other = portkey?.requests_per_s_ratio;
    const ratios = [own, cpu_us_per_request_ratio, cpu_us_per_event_ratio];
    const toPortkey = own === undefined || other === undefined ? undefined : own / other;
    const [processor = ''] = machine.split(',');
    return [[date, commit, processor, ...ratios.map(shown), shown(toPortkey)]];
  });
  const head = [
    'Date',
    'Commit',
    'Processor',
    'Requests/s',
    'CPU per request',
    'CPU per event',
    'Requests/s, × Portkey',
  ];
  return markdownTable(head, rows);
}
