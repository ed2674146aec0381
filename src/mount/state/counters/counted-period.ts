import type { Period } from '../../../common/calendar-periods.ts';
import { type Limit, periodsOf } from '../../../gateway/limits/limit-table.ts';

/**
 * The period that counts, such as a month. A clock that is set back does not repeat one: it does not go back to an earlier one for its own
 * length, after which a clock that was set forward by mistake no longer holds it.
 */
export class CountedPeriod implements Period {
  start_ms = Number.NEGATIVE_INFINITY;
  end_ms = 0;
  /** When it began to count in this process, on the monotonic clock. */
  began_ms = 0;
  readonly #periods;
  /** That it has on the calendar. */
  #length_ms = 0;

  constructor(limit: Limit) {
    this.#periods = periodsOf(limit);
  }

  /** Reads what counts at a time: the same within it, unless the clock is set back. */
  pass(epoch_ms: number, elapsed_ms: number): void {
    const shown = this.#periods.around(epoch_ms);
    const left_ms = this.began_ms + this.#length_ms - elapsed_ms;
    if (shown.start_ms < this.start_ms && left_ms > 0) {
      this.end_ms = Math.min(this.start_ms + this.#length_ms, epoch_ms + left_ms);
      return;
    }
    if (shown.start_ms !== this.start_ms) this.began_ms = elapsed_ms;
    this.#length_ms = shown.end_ms - shown.start_ms;
    this.start_ms = shown.start_ms;
    this.end_ms = shown.end_ms;
  }
}
