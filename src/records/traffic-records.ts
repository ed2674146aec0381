import { day_ms, hour_ms, minute_ms } from '../common/durations.ts';
import type { ErrorCounts } from '../common/end-class.ts';

/** What requests over time can be split by. */
export const trafficSplits = ['provider', 'model', 'error_type'] as const;

/** One of these. */
export type TrafficSplit = (typeof trafficSplits)[number];

/** A time, and the points that it is divided into. Milliseconds; `point_ms` is a multiple of `step_ms`, which is one of `trafficSteps`. */
export interface TrafficRange {
  /** Length of the sums that are read. */
  readonly step_ms: number;
  /** Length of a point. */
  readonly point_ms: number;
  /** Unix milliseconds; inclusive. */
  readonly from_ms: number;
  /** Exclusive. */
  readonly until_ms: number;
}

/** Which requests are counted; all by default. */
export interface TrafficFilter {
  /** Id of an account: its rows of the ledger are read, not sums, and so a sample of what was refused at once. The time should be short. */
  readonly account?: string | undefined;
  /** The provider that was asked last; empty for none. */
  readonly provider?: string | undefined;
  /** Id of the model; empty for none. */
  readonly model?: string | undefined;
  /** The same for attempts, which know the models' names at the providers: `provider` of one is its own. */
  readonly upstreams?: readonly { readonly provider: string; readonly model: string }[] | undefined;
}

/** Requests of a time. */
export interface TrafficQuery extends TrafficRange, TrafficFilter {}

/** The requests of one point and one name, and how many of them were errors of each class. */
export interface TrafficPoint extends ErrorCounts {
  /** Unix milliseconds. */
  readonly at_ms: number;
  /** Of the provider that was asked last, the model, or the error's type; empty for none. */
  readonly name: string;
  /** How many. */
  readonly requests: number;
  /** Tokens of prompts and answers. */
  readonly tokens: number;
  /** US dollars, as an exact decimal. */
  readonly cost_usd: string;
  /** Requests by their time to the first token, as `first_token_bounds_ms`; the last count is of all that took longer. */
  readonly first_tokens: readonly number[];
  /** By provider: the same of the attempts at it, by their own times, also where another one answered in the end. Otherwise as above. */
  readonly attempt_first_tokens: readonly number[];
}

/** The failed requests of one point and one cause. Provider and model are empty for none. */
export interface FailurePoint {
  /** Unix milliseconds. */
  readonly at_ms: number;
  /** Name of the provider; empty for none. */
  readonly provider: string;
  /** Id of the model; empty for none. */
  readonly model: string;
  /** Type of the error. */
  readonly error_type: string;
  /** Why it ended. */
  readonly end_reason: string;
  /** How many. */
  readonly requests: number;
}

/** How many attempts at a model of a provider ended in the same way, and after how long; `kind` is that of a failure. */
export interface AttemptSum {
  /** Name of the provider; empty for none. */
  readonly provider: string;
  /** The model's name at the provider; empty for none, as of paths that are passed through. */
  readonly model: string;
  /** How the attempts ended. */
  readonly outcome: string;
  /** The kind of failure; empty for none. */
  readonly kind: string;
  /** How many. */
  readonly attempts: number;
  /** Attempts by their time to the first token, as `first_token_bounds_ms`; the last count is of all that took longer. */
  readonly first_tokens: readonly number[];
  /** Attempts by their duration, as `duration_bounds_ms`; the last count is of all that took longer. */
  readonly durations: readonly number[];
}

/** The lengths of time that are added up, and how long each is kept: a little longer than the ranges that are made of them, and the time before. */
export const trafficSteps = [
  { step_ms: minute_ms, kept_ms: 13 * hour_ms },
  { step_ms: 10 * minute_ms, kept_ms: 50 * hour_ms },
  { step_ms: hour_ms, kept_ms: 62 * day_ms },
] as const;

/** Upper bounds of the times to the first token that are counted apart, in milliseconds; later ones have a count of their own. */
export const first_token_bounds_ms = [
  50, 75, 100, 150, 200, 300, 400, 600, 800, 1200, 1600, 2400, 3200, 5000, 7500, 10_000, 15_000, 30_000,
  60_000,
] as const;

/** Upper bounds of the durations of attempts that are counted apart, in milliseconds; longer ones have a count of their own. */
export const duration_bounds_ms = [
  100, 250, 500, 1000, 2000, 4000, 7500, 15_000, 30_000, 60_000, 120_000, 300_000, 600_000,
] as const;

/** Sums over time of what all instances have served, at most 62 days back. */
export interface TrafficRecords {
  /** Requests by point and `split`, in the order of time. */
  points(query: TrafficQuery, split: TrafficSplit): Promise<TrafficPoint[]>;
  /** Failed requests by point and cause, in the order of time. */
  failures(query: TrafficQuery): Promise<FailurePoint[]>;
  /** Attempts by provider, model there and how they ended, failed ones that a later attempt made good included. */
  attempts(query: TrafficQuery): Promise<AttemptSum[]>;
}
