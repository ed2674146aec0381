import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { type Finding, finding } from '../../common/finding.ts';

const { ok, warning } = finding;

/** A stream has one descriptor to the client and one to the provider. */
const files_per_stream = 2;
/** For what else a gateway has open: listeners, stores, idle connections. */
const spare_files = 100;
const few_streams = 1000;
const wrong_clock_ms = 30_000;

/** How many streams the limit of open files lets through; nothing where there is no such limit. */
export function checkOpenFiles(limits = readLimits()): Finding[] {
  const files = /^Max open files\s+(\d+)/m.exec(limits)?.[1];
  if (files === undefined) return [];
  const streams = Math.max(0, Math.floor((Number(files) - spare_files) / files_per_stream));
  const found = `${files} files may be open, enough for about ${streams} streams at a time`;
  return [
    streams < few_streams
      ? warning('open files', found, 'ulimit -n 65536, or LimitNOFILE=65536 in a unit of systemd')
      : ok('open files', found),
  ];
}

/** Of this process, which had its soft limit raised to the hard one by Node, as a gateway has. */
function readLimits(): string {
  try {
    return readFileSync('/proc/self/limits', 'utf8');
  } catch {
    return '';
  }
}

/** This machine's clock against those of the servers: the nearest counts, since one of them may be wrong. */
export function checkClock(skews_ms: readonly number[]): Finding[] {
  const [nearest_ms] = skews_ms.toSorted((a, b) => Math.abs(a) - Math.abs(b));
  if (nearest_ms === undefined) return [];
  const seconds = Math.round(Math.abs(nearest_ms) / 1000);
  if (Math.abs(nearest_ms) < wrong_clock_ms) return [ok('clock', 'agrees with the clock of a provider')];
  const found = `is ${seconds} s ${nearest_ms > 0 ? 'ahead of' : 'behind'} the clocks of the providers`;
  return [
    warning(
      'clock',
      found,
      'synchronize it (chrony, systemd-timesyncd): keys, certificates and limits go by it',
    ),
  ];
}

/** Processes of `server.workers` against the cores that they can have; nothing for a single one. */
export function checkWorkers(workers: number, cores = availableParallelism()): Finding[] {
  if (workers === 1) return [];
  const found = `${workers} processes on ${cores} ${cores === 1 ? 'core' : 'cores'}`;
  return [
    workers > cores
      ? warning('workers', `${found} take turns`, 'set server.workers: auto, one for each core')
      : ok('workers', found),
  ];
}

/** The Node that runs this. */
export const checkNode = (): Finding[] => [
  ok('node', `${process.versions.node} on ${process.platform} ${process.arch}`),
];
