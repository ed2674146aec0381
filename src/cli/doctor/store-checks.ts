import { accessSync, constants, statfsSync } from 'node:fs';
import { dirname } from 'node:path';
import { type Finding, finding } from '../../common/finding.ts';
import type { RecordsSettings } from '../../config/records-options.ts';
import { ask_ms, noAnswer } from '../../mount/provider-check/ask-server.ts';
import type { StatePlace } from '../../records/define-state-store.ts';

const { fault, ok, warning } = finding;

const thing = 'records store';
const mebibyte = 1024 * 1024;
const little_space = 1024 * mebibyte;
const no_space = 100 * mebibyte;

/** Looks at the records store without changing it. */
export async function checkRecords({ place, queue_path }: RecordsSettings): Promise<Finding[]> {
  if (place.isMemory)
    return [
      ok(thing, 'memory: issued keys and the ledger end with the process; they last with stores.records'),
    ];
  const own = place.file === undefined ? [] : folderFaults(thing, dirname(place.file));
  if (own.some(({ status }) => status === 'fault')) return own;
  const findings = [...((await place.examine?.()) ?? []), ...own];
  const queueFolder = dirname(queue_path);
  const isSame = place.file !== undefined && dirname(place.file) === queueFolder;
  return isSame ? findings : [...findings, ...folderFaults('ledger queue', queueFolder)];
}

function folderFaults(of: string, folder: string): Finding[] {
  try {
    accessSync(folder, constants.W_OK | constants.X_OK);
    const { bavail, bsize } = statfsSync(folder);
    const free = bavail * bsize;
    const found = `${Math.floor(free / mebibyte)} MiB are free in ${folder}`;
    if (free < no_space) return [fault(of, found, 'make room: without it nothing is recorded')];
    return free < little_space ? [warning(of, found, 'make room before the disk is full')] : [];
  } catch (thrown) {
    const { code } = thrown as NodeJS.ErrnoException;
    const remedy = 'create the folder, and give it to the user who runs sluice';
    return [fault(of, `the folder ${folder} cannot be written (${code})`, remedy)];
  }
}

const how = {
  limit_ms: ask_ms,
  messageOf: (thrown: unknown) => noAnswer(thrown, { protocol: 'redis:' }).message,
};

/** Looks at the server of `stores.state`, if there is one. */
export async function checkState(server: StatePlace | undefined): Promise<readonly Finding[]> {
  if (!server) return [ok('state store', 'memory: limits hold for this process alone')];
  return (await server.examine?.(how)) ?? [];
}
