import { statSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { RepeatingTask } from './repeating-task.ts';

/** Polling interval. Mounted secrets are replaced through symbolic links, and network file systems have no change events. */
const default_poll_ms = 2000;
/** A file that has changed is left alone until it is the same for this long: it may be half written, or one of a pair. */
const settle_ms = 250;

/**
 * Calls `changed` after any of `files` was written, replaced, created or removed, once they have been the same for 250 ms. Follows symbolic
 * links. Changes since this call are seen, or since `known` was taken: read the files after it. Does not keep the process alive. Returns a
 * function that ends the watch.
 */
export function watchFiles(
  files: readonly string[],
  changed: () => void,
  poll_ms: number = default_poll_ms,
  known: string = statesOf(files),
): () => void {
  let isOpen = true;
  let last = known;
  const task = new RepeatingTask(async () => {
    const now = (await Promise.all(files.map(stateOf))).join();
    const isSettled = now === last;
    last = now;
    if (!isSettled) return settle_ms;
    if (now !== known && isOpen) {
      known = now;
      changed();
    }
    return poll_ms;
  });
  task.runIn(poll_ms);
  return () => {
    isOpen = false;
    void task.close();
  };
}

/** What differs once one of `files` has changed, for `watchFiles`. */
export const statesOf = (files: readonly string[]): string => files.map(stateNow).join();

interface FileTimes {
  readonly ino: bigint;
  readonly size: bigint;
  readonly mtimeNs: bigint;
  readonly ctimeNs: bigint;
}

/** Differs for another file at the same path, and for other content or permissions of the same file. */
const textOf = ({ ino, size, mtimeNs, ctimeNs }: FileTimes): string => `${ino}:${size}:${mtimeNs}:${ctimeNs}`;
/** A file that cannot be reached is a state as well, and one that was replaced in between has to be read again. */
const missing = ({ code }: NodeJS.ErrnoException): string => String(code);

const stateOf = (file: string): Promise<string> => stat(file, { bigint: true }).then(textOf, missing);

function stateNow(file: string): string {
  try {
    return textOf(statSync(file, { bigint: true }));
  } catch (thrown) {
    return missing(thrown as NodeJS.ErrnoException);
  }
}
