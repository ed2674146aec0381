import type { LedgerEntry } from '../../gateway/settlement/ledger-entry.ts';
import type { Channel } from '../workers/channel.ts';
import { storeFault } from './channel-database.ts';

/** Rows that may be on their way. A primary that is further behind is waited for. */
const max_sent = 5000;

/**
 * Hands rows of a worker over to the primary process. Rows that have been sent outlive the worker, so its answer is not waited for: a primary
 * that writes a large batch answers late, and what waited for that would be lost with a worker that is killed meanwhile.
 */
export class HandOver {
  readonly #primary: Channel;
  readonly #putBack: (rows: readonly LedgerEntry[]) => void;
  readonly #sent = new Set<Promise<void>>();
  #rows = 0;
  /** The last answer was that there is no room: the next one is waited for, and its fault told. */
  #isRefused = false;

  /** `putBack` gets rows that the primary refused after they had been taken for handed over. */
  constructor(primary: Channel, putBack: (rows: readonly LedgerEntry[]) => void) {
    this.#primary = primary;
    this.#putBack = putBack;
  }

  /** Rejects with StoreUnavailable when the rows must wait here. The primary counts what is written. */
  readonly insert = async (rows: readonly LedgerEntry[]): Promise<number> => {
    const isAwaited = this.#isRefused || this.#rows >= max_sent;
    const sent = this.#send(rows);
    if (isAwaited) await sent;
    else {
      const over = sent.catch(() => this.#putBack(rows)).finally(() => this.#sent.delete(over));
      this.#sent.add(over);
    }
    return 0;
  };

  /** Resolves when all that was sent has been taken, or put back. */
  readonly settled = (): Promise<unknown> => Promise.all(this.#sent);

  async #send(rows: readonly LedgerEntry[]): Promise<void> {
    this.#rows += rows.length;
    try {
      const taken = this.#primary.request('ledger.take', JSON.stringify(rows));
      this.#primary.flush();
      await taken;
      this.#isRefused = false;
    } catch (thrown) {
      this.#isRefused = true;
      throw storeFault(thrown);
    } finally {
      this.#rows -= rows.length;
    }
  }
}
