/** The parts of an exchange that the metrics read. */
export interface Measured {
  readonly endpoint: { readonly name: string; readonly public: boolean };
  readonly model: { readonly id: string } | undefined;
  /** `gen_ai.operation.name`, if there is one for it. */
  readonly operation?: string | undefined;
  /** Id of the recorded trace, if any. */
  readonly trace_id?: string | undefined;
}

/** The parts of its outcome that the metrics read. */
export interface MeasuredEnd {
  readonly end_reason: string;
  readonly status: number;
  readonly error_type: string | undefined;
  /** The client's name of the request field at fault. */
  readonly error_param?: string | undefined;
  readonly account: string | undefined;
  readonly provider: string | undefined;
  readonly usage: MeasuredUsage;
  readonly cost_usd: string;
  readonly timings: { readonly duration_ms: number; readonly first_token_ms: number | undefined };
}

export interface MeasuredUsage {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly cached_tokens: number;
  readonly cache_creation_tokens?: number | undefined;
  readonly completion_details: { readonly reasoning_tokens?: number } | undefined;
  readonly estimated: boolean;
}

/** The model label of what is not in the catalog, since clients must not be able to create series. */
export const other_model = '_other';
