import type { StreamWish } from './conversation.ts';
import type { TaskName } from './tasks.ts';

/** What the load generator is told to do, as messages between processes. */
interface JobBase {
  readonly port: number;
  /** A contestant's own request headers. */
  readonly headers: Readonly<Record<string, string>>;
  readonly warmup_ms: number;
  readonly measure_ms: number;
  /** Whose CPU time is read at the beginning and the end of the measurement. */
  readonly gateway_pid: number | undefined;
  readonly upstream_pid: number;
}

export interface RequestJob extends JobBase {
  readonly kind: 'requests';
  readonly task: TaskName;
  readonly connections: number;
}

export interface StreamJob extends JobBase {
  readonly kind: 'streams';
  readonly streams: number;
  /** All streams are opened within this time, one after the other. */
  readonly open_ms: number;
  readonly wish: StreamWish;
  /** How many events a complete stream has, `[DONE]` included. */
  readonly events_per_stream: number;
}

export type Job = RequestJob | StreamJob;

/** CPU time of everyone during the measurement, in seconds. */
export interface Window {
  readonly seconds: number;
  readonly gateway_cpu_s: number | undefined;
  readonly upstream_cpu_s: number;
  readonly generator_cpu_s: number;
}

export interface RequestResult extends Window {
  readonly kind: 'requests';
  readonly requests: number;
  /** With those before and after the measurement. */
  readonly replies: number;
  readonly p50_ms: number;
  readonly p99_ms: number;
}

export interface StreamResult extends Window {
  readonly kind: 'streams';
  /** Delivered to clients during the measurement. */
  readonly events: number;
  /** What the upstream's pace should have brought in the same time. */
  readonly expected_events: number;
}

export type Result = RequestResult | StreamResult;

/** The answer to a job: its result, or what was wrong with the replies. */
export type Answer = { readonly result: Result } | { readonly fault: string };

/** How often each stream of the upstream sends an event. */
export const events_per_second = 20;
