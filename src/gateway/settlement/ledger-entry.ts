/** One attempt of an exchange, as `AttemptRecord` describes it. Null where it is unknown. */
export interface AttemptRow {
  /** The provider that was asked. */
  readonly provider: string | null;
  /** The model's name there. */
  readonly model: string | null;
  /** Milliseconds from the beginning of the exchange to that of the attempt. */
  readonly offset_ms: number;
  /** Milliseconds in which it waited for a permit. */
  readonly wait_ms: number;
  /** Milliseconds to the first token. */
  readonly first_token_ms: number | null;
  /** Milliseconds to its end. */
  readonly duration_ms: number | null;
  /** HTTP status of the reply. */
  readonly status: number | null;
  /** How it ended. */
  readonly outcome: 'completed' | 'failed' | 'aborted' | null;
  /** The kind of its failure. */
  readonly kind: string | null;
  /** Null unless it failed. */
  readonly error_message: string | null;
}

/** One hook of a stage, as `StageRecord` describes it. */
export interface StageRow {
  /** The stage's name. */
  readonly stage: string;
  /** The hook's name. */
  readonly hook: string;
  /** Milliseconds from the beginning of the exchange to that of the hook. */
  readonly offset_ms: number;
  /** Milliseconds that the hook took by itself. */
  readonly own_ms: number;
}

/** One settled exchange, also as `ledger_row` in the log. */
export interface LedgerRow {
  /** Unique for every exchange, unlike the request id, which clients may choose: a row is written once however often it is sent. */
  readonly id: string;
  /** The id that the client was told. */
  readonly request_id: string;
  /** Whose exchange it was. */
  readonly account: string;
  /** The stored key that was used; null for keys of the configuration. */
  readonly key_id: string | null;
  /** Id of the model; null if the catalog has none of that name. */
  readonly model: string | null;
  /** The provider that was asked last; null if none was. */
  readonly provider: string | null;
  /** Name of the endpoint. */
  readonly endpoint: string;
  /** The name that the client asked for, if it is not the model's id. */
  readonly requested_model: string | null;
  /** The message that the client got. */
  readonly error_message: string | null;
  /** The request field at fault. */
  readonly error_param: string | null;
  /** Whether a stream was asked for; null if the request was not read. */
  readonly stream: boolean | null;
  /** Id of the trace. */
  readonly trace_id: string | null;
  /** Unix milliseconds at which it began. */
  readonly started_ms: number;
  /** Milliseconds from its beginning to its end. */
  readonly duration_ms: number;
  /** Milliseconds to the first token; null without one. */
  readonly first_token_ms: number | null;
  /** HTTP status of the reply. */
  readonly status: number;
  /** Type of the error that the client got; null without one. */
  readonly error_type: string | null;
  /** Name of the error in the catalogue. */
  readonly code: string | null;
  /** Why it ended. */
  readonly end_reason: string;
  /** Name of the usage limit that refused the request; null for other ends. */
  readonly refused_by: string | null;
  /** How many attempts were made. */
  readonly attempts: number;
  /** Tokens of the prompt. */
  readonly prompt_tokens: number;
  /** Tokens of the answer, reasoning included. */
  readonly completion_tokens: number;
  /** Tokens of the prompt that the provider had in its cache. */
  readonly cached_tokens: number;
  /** Tokens of the prompt that the provider has put into its cache. */
  readonly cache_creation_tokens: number;
  /** Tokens of the answer that were reasoning. */
  readonly reasoning_tokens: number;
  /** The tokens were estimated by the gateway, not reported by the upstream. */
  readonly estimated: boolean;
  /** US dollars, as an exact decimal. */
  readonly cost_usd: string;
  /** What its providers are paid, likewise; null if that is unknown. For operators, not for the account. */
  readonly paid_usd: string | null;
  /** Every attempt, in order. */
  readonly attempts_made: readonly AttemptRow[];
  /** Own time of the stages' hooks, in the order in which they began. */
  readonly stages: readonly StageRow[];
}

/** Equal exchanges of one day that asked no upstream and cost nothing; `started_ms` is when the first of them began. */
export interface RefusalCount
  extends Pick<
    LedgerRow,
    'account' | 'key_id' | 'model' | 'status' | 'error_type' | 'end_reason' | 'started_ms'
  > {
  /** How many there were. */
  readonly requests: number;
}

/** Refusals that are sent together and counted once, however often they are sent. */
export interface RefusalBatch {
  /** Begins with the time, as that of a row. */
  readonly id: string;
  /** The counts. */
  readonly refusals: readonly RefusalCount[];
  /** Some of them as rows, which are in the counts already. */
  readonly samples?: readonly LedgerRow[] | undefined;
}

/** What the ledger stores, each once by its id. */
export type LedgerEntry = LedgerRow | RefusalBatch;

/** Whether it is an exchange. */
export const isRow = (entry: LedgerEntry): entry is LedgerRow => 'account' in entry;
/** Whether it is a batch of refusals. */
export const isBatch = (entry: LedgerEntry): entry is RefusalBatch => 'refusals' in entry;

/** The number of exchanges in `entries`. */
export function exchangesIn(entries: readonly LedgerEntry[]): number {
  const inBatch = ({ refusals }: RefusalBatch) => refusals.reduce((sum, { requests }) => sum + requests, 0);
  return entries.reduce((sum, entry) => sum + (isRow(entry) ? 1 : inBatch(entry)), 0);
}
