import type { Contestant, Gateway, StreamVariant } from './contestants/contestant.ts';
import type { RequestResult, StreamResult } from './jobs.ts';

/** A way of asking for streams, and what was measured of it. */
export interface Streamed {
  readonly variant: StreamVariant;
  readonly results: StreamResult[];
}

/** A contestant in this run: its gateway or why there is none, and what was measured. */
export interface Entry {
  readonly contestant: Contestant;
  readonly gateway: Gateway | undefined;
  readonly requests: RequestResult[];
  readonly streamed: readonly Streamed[];
  /** Why it does not take part, or what was wrong with its replies, after which it was left out. */
  fault: string | undefined;
  /** All of its replies in closed loops, also those that were not measured. */
  replies: number;
  /** Spans of it that have come where it sends them. */
  spans: number | undefined;
}

export function entryOf(
  contestant: Contestant,
  gateway: Gateway | undefined,
  fault: string | undefined,
): Entry {
  const streamed = contestant.streamed.map(variant => ({ variant, results: [] }));
  return { contestant, gateway, requests: [], streamed, fault, replies: 0, spans: undefined };
}
