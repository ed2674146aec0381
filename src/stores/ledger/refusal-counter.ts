import type { LedgerRow, RefusalBatch, RefusalCount } from '../records/ledger-entry.ts';

/** How many kinds of refusals are told apart until they are written, and how many of them one batch has. */
const max_kinds = 10_000;
const kinds_per_batch = 500;
const day_ms = 86_400_000;

/** An exchange that asked no upstream and used nothing: a number in the ledger, not a row, or one throttled client writes thousands. */
export const isRefusal = (row: LedgerRow): boolean =>
  row.attempts === 0 &&
  row.end_reason !== 'completed' &&
  row.prompt_tokens + row.completion_tokens === 0 &&
  row.cost_usd === '0';

type Counted = { -readonly [K in keyof RefusalCount]: RefusalCount[K] } & { readonly id: string };

/** Counts refusals until they are written. Takes memory by how many kinds there are, not by how many refusals. */
export class RefusalCounter {
  #counts = new Map<string, Counted>();

  /** False if it is of one kind too many. */
  add(row: LedgerRow): boolean {
    const { id, started_ms, account, key_id, model, status, error_type, end_reason } = row;
    const day = Math.floor(started_ms / day_ms);
    const kind = [day, account, key_id, model, status, error_type, end_reason].join('\n');
    const counted = this.#counts.get(kind);
    if (counted) counted.requests++;
    else if (this.#counts.size >= max_kinds) return false;
    else
      this.#counts.set(kind, {
        id,
        started_ms,
        account,
        key_id,
        model,
        status,
        error_type,
        end_reason,
        requests: 1,
      });
    return true;
  }

  /** What has been counted, which is counted no longer. A batch has the id of the first row that is in it. */
  drain(): RefusalBatch[] {
    const counts = [...this.#counts.values()];
    this.#counts = new Map();
    const batches: RefusalBatch[] = [];
    for (let at = 0; at < counts.length; at += kinds_per_batch) {
      const some = counts.slice(at, at + kinds_per_batch);
      batches.push({ id: some[0]!.id, refusals: some.map(({ id: _, ...refusal }) => refusal) });
    }
    return batches;
  }
}
