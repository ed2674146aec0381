import { type BulkheadPolicy, BulkheadRejectedError, bulkhead } from 'cockatiel';
import { PageError } from './page-response.ts';

/** Pages of one caller that are made at the same time, and that wait for it: a browser asks for few. */
const [max_running, max_waiting] = [4, 60];

/** Makes few pages of each caller at the same time: their queries wait in one line with those of requests and of other callers. */
export class PageTurns {
  readonly #byCaller = new Map<string, BulkheadPolicy>();

  /** Makes a page in the turn of its caller. Rejects with a PageError if too many wait. */
  async make<T>(caller: string, page: () => T | Promise<T>): Promise<T> {
    const turns = this.#byCaller.get(caller) ?? bulkhead(max_running, max_waiting);
    this.#byCaller.set(caller, turns);
    try {
      return await turns.execute(page);
    } catch (thrown) {
      if (!(thrown instanceof BulkheadRejectedError)) throw thrown;
      throw new PageError(
        429,
        'You have asked for too many pages at the same time.',
        'Load this one again.',
        {
          'retry-after': '1',
        },
      );
    } finally {
      if (turns.executionSlots === max_running) this.#byCaller.delete(caller);
    }
  }
}
