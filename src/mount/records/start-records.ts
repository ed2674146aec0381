import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from '../../common/clock.ts';
import { openPlace, type RecordsPlace } from '../../records/define-records-store.ts';
import { databaseCode, isOutage } from '../../records/record-errors.ts';
import type { RecordsStore } from '../../records/records-store.ts';
import { warnOfSharedFiles } from '../../records/sqlite/private-file.ts';
import type { Log } from '../../telemetry/log.ts';

/** How often the migration of a store that was down at the start is tried again. */
const retry_ms = 2000;

/** SQLSTATEs and system errors that waiting does not mend: no such user, database or host, no rights. */
const mistakes = new Set(['28P01', '28000', '3D000', '42501', 'ENOTFOUND', 'ERR_INVALID_URL']);

/**
 * Opens the records store of a gateway and migrates it. A Postgres that is down does not prevent startup, since configured keys work
 * without it: the migration is retried until it answers or is closed. Throws for a store that is wrongly named, may not be used, or is of a
 * newer version.
 */
export async function startRecords(place: RecordsPlace, clock: Clock, log: Log): Promise<RecordsStore> {
  const onLost = (fault: Error) => log.warn({ err: fault }, 'a connection to the records store was lost');
  const store = await openPlace(place, onLost).catch(thrown => fail(place, thrown));
  // A database that begins and ends with the process is always new.
  const migrationLog = place.isMemory ? undefined : log;
  const migrate = () => store.migrate(clock.epoch_ms(), migrationLog);
  const closing = new AbortController();
  try {
    await migrate();
  } catch (thrown) {
    if (!place.isShared || !mayPass(thrown)) {
      await store.close();
      fail(place, thrown);
    }
    log.error(
      { err: thrown },
      `the records store ${place.name} is down: only keys of the configuration work until it answers`,
    );
    void retry(migrate, closing.signal, log);
  }
  if (place.file !== undefined) warnOfSharedFiles(place.file, log);
  const close = () => {
    closing.abort();
    return store.close();
  };
  return { ...store, close };
}

async function retry(migrate: () => Promise<void>, closing: AbortSignal, log: Log): Promise<void> {
  for (;;) {
    await sleep(retry_ms, undefined, { ref: false, signal: closing }).catch(() => {});
    if (closing.aborted) return;
    try {
      await migrate();
      return log.info('the records store answers');
    } catch (fault) {
      if (closing.aborted) return;
      if (!isOutage(fault)) return log.fatal({ err: fault }, 'the records store cannot be used');
    }
  }
}

const mayPass = (thrown: unknown): boolean => isOutage(thrown) && !mistakes.has(`${databaseCode(thrown)}`);

function fail({ name, isGiven }: RecordsPlace, thrown: unknown): never {
  throw new Error(
    `${isGiven ? '' : 'stores.records: '}${name} cannot be used: ${(thrown as Error).message}`,
    {
      cause: thrown,
    },
  );
}
