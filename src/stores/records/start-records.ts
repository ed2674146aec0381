import type { Clock } from '../../clock.ts';
import type { Log } from '../../telemetry/log.ts';
import { StoreUnavailable } from './database.ts';
import { warnOfSharedFiles } from './private-file.ts';
import { openRecords, type RecordsStore } from './records-store.ts';
import type { RecordsTarget } from './records-target.ts';

/** How often a store that was out at the start is tried again. */
const retry_ms = 2000;

/** SQLSTATEs and system errors that waiting does not mend: no such user, database or host, no rights. */
const mistakes = new Set(['28P01', '28000', '3D000', '42501', 'ENOTFOUND', 'ERR_INVALID_URL']);

/** A store whose schema is up to date, or will be once the store answers. */
export interface StartedRecords {
  readonly store: RecordsStore;
  /** Ends the store, and the trying. */
  close(): Promise<void>;
}

/**
 * Opens the records store of a gateway. A store that is out does not keep the gateway from starting: configured keys work without it, and
 * it is tried again until it answers. Throws for a store that is wrongly named, may not be used, or is of a newer version.
 */
export async function startRecords(target: RecordsTarget, clock: Clock, log: Log): Promise<StartedRecords> {
  let timer: NodeJS.Timeout | undefined;
  let isClosed = false;
  const onLost = (fault: Error) => log.warn({ err: fault }, 'a connection to the records store was lost');
  const store = await openRecords(target, onLost).catch(thrown => fail(target, thrown));
  // A database that begins and ends with the process is always new.
  const migrationLog = target.kind === 'memory' ? undefined : log;
  const close = async () => {
    isClosed = true;
    clearTimeout(timer);
    await store.close();
  };
  const again = async (): Promise<void> => {
    try {
      await store.migrate(clock.epoch_ms(), migrationLog);
      log.info('the records store answers');
    } catch (fault) {
      if (isClosed) return;
      if (!(fault instanceof StoreUnavailable)) log.fatal({ err: fault }, 'the records store cannot be used');
      else timer = setTimeout(again, retry_ms).unref();
    }
  };
  try {
    await store.migrate(clock.epoch_ms(), migrationLog);
  } catch (thrown) {
    if (target.kind !== 'postgres' || !isOutage(thrown)) {
      await store.close();
      fail(target, thrown);
    }
    log.error(
      { err: thrown },
      `the records store ${placeOf(target)} is out: only keys of the configuration work until it answers`,
    );
    timer = setTimeout(again, retry_ms).unref();
  }
  if (target.kind === 'sqlite') warnOfSharedFiles(target.path, log);
  return { store, close };
}

/** Where the store is, without its password. */
export function placeOf(target: RecordsTarget): string {
  if (target.kind !== 'postgres') return target.kind === 'sqlite' ? `sqlite:${target.path}` : 'memory';
  const { hostname, port, pathname } = new URL(target.url);
  return `postgres://${hostname}${port && `:${port}`}${pathname}`;
}

function isOutage(thrown: unknown): boolean {
  if (!(thrown instanceof StoreUnavailable)) return false;
  return !mistakes.has((thrown.cause as { code?: string } | undefined)?.code ?? '');
}

function fail(target: RecordsTarget, thrown: unknown): never {
  throw new Error(`stores.records: ${placeOf(target)} cannot be used: ${(thrown as Error).message}`, {
    cause: thrown,
  });
}
