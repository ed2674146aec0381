import { CallIds } from '../../../src/plugin.ts';

/** Ids of one response's items: made of its own key, never the same twice, and the same in a stream as in a whole reply. */
export class ItemIds {
  readonly #key: string;
  /** Items so far, by prefix. */
  readonly #counts = new Map<string, number>();
  readonly #callIds = new CallIds((given, count) => `${given || 'call'}_${count + 1}`);

  constructor(key: string) {
    this.#key = key;
  }

  next(prefix: 'msg' | 'rs' | 'fc' | 'ctc' | 'dtc'): string {
    const count = (this.#counts.get(prefix) ?? 0) + 1;
    this.#counts.set(prefix, count);
    const id = `${prefix}_${this.#key}`;
    return count === 1 ? id : `${id}_${count}`;
  }

  /** The id of a call: the upstream's, unless it is empty or taken. */
  callId(given: string): string {
    return this.#callIds.unique(given);
  }
}
