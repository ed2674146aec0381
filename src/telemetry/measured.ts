/** What the metrics need to know of an exchange. */
export interface Measured {
  readonly endpoint: { readonly name: string; readonly public: boolean };
  readonly model: { readonly id: string } | undefined;
  /** Of the trace that is recorded, if one is. */
  readonly trace_id?: string | undefined;
}

/** What they need to know of its end. */
export interface MeasuredEnd {
  readonly end_reason: string;
  readonly status: number;
  readonly error_type: string | undefined;
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
  readonly completion_details: { readonly reasoning_tokens?: number } | undefined;
  readonly estimated: boolean;
}

/** Only names of the catalog become labels: a client must not be able to make series (protocol l). */
export const modelLabel = (exchange: Measured): string => exchange.model?.id ?? '_other';
