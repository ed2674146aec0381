import type { Log } from '../../telemetry/log.ts';
import type { KeyRecords } from '../records/key-records.ts';

/** How often uses are written down: also how exact they are. */
const write_ms = 15_000;
/** How many keys one statement writes. */
const keys_per_write = 500;
/** Keys whose use waits to be written; further ones are left out, which only makes them look unused for longer. */
const max_waiting = 50_000;

/** When each key was last used, written down together and never on a request's way. */
export class KeyUses {
  readonly #keys: Pick<KeyRecords, 'used'>;
  readonly #log: Log;
  #times = new Map<string, number>();
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> = Promise.resolve();

  constructor(keys: Pick<KeyRecords, 'used'>, log: Log) {
    this.#keys = keys;
    this.#log = log;
  }

  note(key_id: string, used_ms: number): void {
    if (this.#times.size < max_waiting || this.#times.has(key_id)) this.#times.set(key_id, used_ms);
  }

  start(): void {
    this.#timer = setInterval(() => this.#write(), write_ms).unref();
  }

  /** Writes down what is left. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#write();
  }

  #write(): Promise<void> {
    this.#writing = this.#writing.then(async () => {
      const waiting = [...this.#times];
      this.#times = new Map();
      for (let at = 0; at < waiting.length; at += keys_per_write) {
        try {
          await this.#keys.used(new Map(waiting.slice(at, at + keys_per_write)));
        } catch (fault) {
          // The time of a later use will be written; of one that never comes back, little is lost.
          this.#log.debug({ err: fault }, 'the last use of keys was not written down');
          return;
        }
      }
    });
    return this.#writing;
  }
}
