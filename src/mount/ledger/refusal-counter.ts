import { day_ms, minute_ms } from '../../common/durations.ts';
import { timeOfUuid } from '../../common/ids.ts';
import type { LedgerRow, RefusalBatch, RefusalCount } from '../../gateway/settlement/ledger-entry.ts';

/** Kinds of refusals that are counted separately until they are written, and kinds in one batch. */
const max_kinds = 10_000;
const kinds_per_batch = 500;
/** Refusals of a minute that are also kept as rows: of each kind, and of all. A flood makes 72,000 rows a day at most. */
const samples_per_kind = 5;
const max_samples = 50;

/** An exchange without an attempt and without usage: counted in the ledger, with a few as rows, or one throttled client would write thousands. */
export const isRefusal = (row: LedgerRow): boolean =>
  row.attempts === 0 &&
  row.end_reason !== 'completed' &&
  row.prompt_tokens + row.completion_tokens === 0 &&
  row.cost_usd === '0';

interface Counted {
  readonly refusal: Omit<RefusalCount, 'requests'>;
  requests: number;
  /** The first of them, as far as there is room. */
  readonly samples: LedgerRow[];
  readonly id: string;
}

/** Counts refusals until they are written, and keeps the first of each kind. Memory grows with the number of kinds, not of refusals. */
export class RefusalCounter {
  #counts = new Map<string, Counted>();
  /** The minute of the newest sample, and how many it has by kind and in all. */
  #minute = 0;
  readonly #kept = new Map<string, number>();
  #keptInAll = 0;

  /** False if there are too many kinds. */
  add(row: LedgerRow): boolean {
    const { id, started_ms, account, key_id, model, status, error_type, end_reason } = row;
    const fields = { account, key_id, model, status, error_type, end_reason };
    const kind = [Math.floor(started_ms / day_ms), ...Object.values(fields)].join('\n');
    const counted = this.#counts.get(kind);
    if (counted) {
      counted.requests++;
      this.#keep(row, kind, counted.samples);
      return true;
    }
    if (this.#counts.size >= max_kinds) return false;
    const samples: LedgerRow[] = [];
    this.#keep(row, kind, samples);
    this.#counts.set(kind, { id, refusal: { started_ms, ...fields }, requests: 1, samples });
    return true;
  }

  #keep(row: LedgerRow, kind: string, samples: LedgerRow[]): void {
    const minute = Math.floor(timeOfUuid(row.id) / minute_ms);
    if (minute !== this.#minute) {
      this.#minute = minute;
      this.#kept.clear();
      this.#keptInAll = 0;
    }
    const kept = this.#kept.get(kind) ?? 0;
    if (kept >= samples_per_kind || this.#keptInAll >= max_samples) return;
    this.#kept.set(kind, kept + 1);
    this.#keptInAll++;
    samples.push(row);
  }

  /** Unix milliseconds at which the first of them was counted; `Infinity` if there are none. */
  get oldest_ms(): number {
    return timeOfUuid(this.#counts.values().next().value?.id ?? '');
  }

  /** Returns the counts and starts anew. A batch has the id of the first row in it. */
  drain(): RefusalBatch[] {
    const counts = [...this.#counts.values()];
    this.#counts = new Map();
    const batches: RefusalBatch[] = [];
    for (let at = 0; at < counts.length; at += kinds_per_batch) {
      const some = counts.slice(at, at + kinds_per_batch);
      batches.push({
        id: some[0]!.id,
        refusals: some.map(({ refusal, requests }) => ({ ...refusal, requests })),
        samples: some.flatMap(({ samples }) => samples),
      });
    }
    return batches;
  }
}
