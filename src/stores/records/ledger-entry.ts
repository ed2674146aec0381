/** One settled exchange. Times in milliseconds. */
export interface LedgerRow {
  /** Unique for every exchange, unlike the request id, which clients may choose: a row is written once however often it is sent. */
  readonly id: string;
  readonly request_id: string;
  readonly account: string;
  /** The stored key that was used; null for keys of the configuration. */
  readonly key_id: string | null;
  readonly model: string | null;
  readonly provider: string | null;
  readonly endpoint: string;
  readonly started_ms: number;
  readonly duration_ms: number;
  readonly first_token_ms: number | null;
  readonly status: number;
  readonly error_type: string | null;
  readonly end_reason: string;
  readonly attempts: number;
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly cached_tokens: number;
  readonly reasoning_tokens: number;
  /** The tokens were estimated by the gateway, not reported by the upstream. */
  readonly estimated: boolean;
  /** Exact decimal string. */
  readonly cost_usd: string;
}

/** Equal exchanges that asked no upstream and cost nothing. */
export interface RefusalCount
  extends Pick<LedgerRow, 'account' | 'key_id' | 'model' | 'status' | 'error_type' | 'end_reason'> {
  /** When the first of them began; all are of that day. */
  readonly started_ms: number;
  readonly requests: number;
}

/** Refusals that are counted together, once however often they are sent. */
export interface RefusalBatch {
  /** Begins with the time, as that of a row. */
  readonly id: string;
  readonly refusals: readonly RefusalCount[];
}

/** What the ledger stores, each once by its id. */
export type LedgerEntry = LedgerRow | RefusalBatch;

export const isRow = (entry: LedgerEntry): entry is LedgerRow => 'account' in entry;
export const isBatch = (entry: LedgerEntry): entry is RefusalBatch => 'refusals' in entry;

/** The number of exchanges in `entries`. */
export function exchangesIn(entries: readonly LedgerEntry[]): number {
  const inBatch = ({ refusals }: RefusalBatch) => refusals.reduce((sum, { requests }) => sum + requests, 0);
  return entries.reduce((sum, entry) => sum + (isRow(entry) ? 1 : inBatch(entry)), 0);
}
