/** What the clients are told to do: one crowd, at one address. */
export interface CrowdJob {
  readonly port: number;
  readonly streams: number;
  readonly tokens_per_second: number;
  /** All streams are opened within this time, one after the other. */
  readonly open_ms: number;
  readonly warmup_ms: number;
  readonly measure_ms: number;
  /** Whose CPU time and memory are read; without it the upstream is asked directly. */
  readonly gateway_pid: number | undefined;
  readonly upstream_pid: number;
}

/** While all streams ran. CPU in seconds. */
export interface CrowdResult {
  readonly seconds: number;
  readonly events: number;
  /** What the upstream's pace should have brought. */
  readonly due_events: number;
  readonly gateway_cpu_s: number;
  readonly upstream_cpu_s: number;
  readonly client_cpu_s: number;
  readonly gateway_rss_bytes: number;
  /** Time between two events of a stream. */
  readonly gap_p50_ms: number;
  readonly gap_p99_ms: number;
}

export type CrowdAnswer = { readonly result: CrowdResult } | { readonly fault: string };
