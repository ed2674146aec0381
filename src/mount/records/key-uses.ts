import { RepeatingTask } from '../../common/repeating-task.ts';
import type { KeyRecords } from '../../records/key-records.ts';
import type { Log } from '../../telemetry/log.ts';

/** Interval of writes, and so the precision of the times. */
const write_ms = 15_000;
/** Keys per statement. */
const keys_per_write = 500;
/** Keys that may wait to be written; for further ones the last use is missed. */
const max_waiting = 50_000;

/** Records when each key was last used, in batches and never within a request. */
export class KeyUses {
  readonly #keys: Pick<KeyRecords, 'used'>;
  readonly #log: Log;
  #times = new Map<string, number>();
  readonly #task = new RepeatingTask(() => this.#write());

  constructor(keys: Pick<KeyRecords, 'used'>, log: Log) {
    this.#keys = keys;
    this.#log = log;
  }

  note(key_id: string, used_ms: number): void {
    if (this.#times.size < max_waiting || this.#times.has(key_id)) this.#times.set(key_id, used_ms);
    this.#task.runIn(write_ms);
  }

  /** Writes what is left. */
  async close(): Promise<void> {
    await this.#task.close();
    await this.#task.run();
  }

  async #write(): Promise<number | undefined> {
    const waiting = [...this.#times];
    this.#times = new Map();
    try {
      for (let at = 0; at < waiting.length; at += keys_per_write)
        await this.#keys.used(new Map(waiting.slice(at, at + keys_per_write)));
      return undefined;
    } catch (fault) {
      this.#log.debug({ err: fault }, 'failed to record when keys were last used, retrying');
      // What was noted meanwhile is newer.
      const later = new Map([...waiting, ...this.#times]);
      this.#times = later.size > max_waiting ? new Map([...later].slice(-max_waiting)) : later;
      return write_ms;
    }
  }
}
