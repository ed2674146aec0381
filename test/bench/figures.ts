import type { Entry, Streamed } from './entry.ts';
import type { Window } from './jobs.ts';
import { median } from './statistics.ts';

/** Medians over rounds. NaN: not measured. */
export interface Figures {
  readonly per_second: number;
  readonly p50_ms: number;
  readonly p99_ms: number;
  readonly request_us: number;
  readonly event_us: number;
}

export const gatewayCpu = (result: Window): number => result.gateway_cpu_s ?? Number.NaN;

export function figuresOf({ requests }: Entry, streamed?: Streamed): Figures {
  const of = <T>(results: readonly T[], read: (result: T) => number) => median(results.map(read));
  return {
    per_second: of(requests, result => result.requests / result.seconds),
    p50_ms: of(requests, result => result.p50_ms),
    p99_ms: of(requests, result => result.p99_ms),
    request_us: of(requests, result => (gatewayCpu(result) / result.requests) * 1e6),
    event_us: of(streamed?.results ?? [], result => (gatewayCpu(result) / result.events) * 1e6),
  };
}

/** A cell without a figure. */
export const nothing = '–';

export const shown = (value: number, digits: number): string =>
  Number.isNaN(value) ? nothing : value.toFixed(digits);

export const ratio = (value: number, base: number | undefined): string =>
  base === undefined || Number.isNaN(value / base) ? nothing : `${(value / base).toFixed(2)}×`;
