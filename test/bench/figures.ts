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
  /** By round, for ratios. */
  readonly rounds: { readonly per_second: readonly number[]; readonly event_us: readonly number[] };
}

export const gatewayCpu = (result: Window): number => result.gateway_cpu_s ?? Number.NaN;

export function figuresOf({ requests }: Entry, streamed?: Streamed): Figures {
  const of = <T>(results: readonly T[], read: (result: T) => number) => median(results.map(read));
  const per_second = requests.map(result => result.requests / result.seconds);
  const event_us = (streamed?.results ?? []).map(result => (gatewayCpu(result) / result.events) * 1e6);
  return {
    per_second: median(per_second),
    p50_ms: of(requests, result => result.p50_ms),
    p99_ms: of(requests, result => result.p99_ms),
    request_us: of(requests, result => (gatewayCpu(result) / result.requests) * 1e6),
    event_us: median(event_us),
    rounds: { per_second, event_us },
  };
}

/** A cell without a figure. */
export const nothing = '–';

export const shown = (value: number, digits: number): string =>
  Number.isNaN(value) ? nothing : value.toFixed(digits);

/** The median of what `values` are of `base`, round by round: the machine is faster in one round than in another, for both alike. */
export function ratio(values: readonly number[], base: readonly number[] = []): string {
  const ratios = values.map((value, round) => value / base[round]!).filter(value => !Number.isNaN(value));
  return ratios.length === 0 ? nothing : `${median(ratios).toFixed(2)}×`;
}
