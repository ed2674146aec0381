import {
  day_ms,
  endReasons,
  errorClasses,
  hour_ms,
  type LedgerQuery,
  no_model as none,
  serviceFailures,
} from '../../src/plugin.ts';
import type { PageRequest } from './page-request.ts';
import type { Scope } from './scope.ts';
import { minuteOf } from './view/format.ts';
import { epochOf } from './view/time-zone.ts';

/** How far back the list goes, by its name in the address; the first is the default. */
export const spans: Readonly<Record<string, { readonly title: string; readonly ms: number }>> = {
  day: { title: '24 hours', ms: day_ms },
  quarter: { title: '15 minutes', ms: 900_000 },
  hour: { title: '1 hour', ms: hour_ms },
  'six-hours': { title: '6 hours', ms: 21_600_000 },
  week: { title: '7 days', ms: 604_800_000 },
  month: { title: '30 days', ms: 2_592_000_000 },
  all: { title: 'all times', ms: Number.POSITIVE_INFINITY },
};

/** What a request can have ended as, beside any error: failures of providers or the gateway, errors by class, and end reasons. */
export const ends: readonly string[] = ['service_failed', ...errorClasses, ...endReasons];

/** Filters that are texts, each with its name in the address and its title. */
export const texts = {
  account: 'Account',
  model: 'Model',
  provider: 'Provider',
  key: 'Key id',
  error_type: 'Error type',
  code: 'Error code',
  failed_at: 'Failed attempt at',
  request: 'Part of a request id',
} as const;
/** The filters of the list, as they stand in the address. */
export interface RequestFilters extends Readonly<Record<keyof typeof texts, string>> {
  /** One of `ends`, `failed` for all with an error, or empty. */
  readonly end: string;
  /** The name of a span, or a time. */
  readonly since: string;
  /** The end of the time; empty for now. */
  readonly until: string;
}

/** Those that customers have as well: none for accounts, nor for what requests are served by. */
const outer_texts: readonly (keyof typeof texts)[] = ['model', 'key', 'error_type', 'code', 'request'];

/** Whether a reader has a filter. */
export const isOffered = (name: keyof typeof texts, { sees }: Scope): boolean =>
  sees.internals || outer_texts.includes(name);

/** The filters that an address has; what it does not have, or what makes no sense or is not offered, is as if it were left out. */
export function filtersOf({ query, scope }: Pick<PageRequest, 'query' | 'scope'>): RequestFilters {
  const given = (name: string) => (query.get(name) ?? '').trim();
  const [first] = Object.keys(spans);
  const names = Object.keys(texts) as (keyof typeof texts)[];
  const named = Object.fromEntries(names.map(name => [name, isOffered(name, scope) ? given(name) : '']));
  const since = given('since');
  return {
    ...(named as Record<keyof typeof texts, string>),
    end: ['failed', ...ends].find(end => end === given('end')) ?? '',
    since: timeIn(since) !== undefined || Object.hasOwn(spans, since) ? since : first!,
    until: timeIn(given('until')) === undefined ? '' : given('until'),
  };
}

/** A time in the address, as `2026-11-20T12:00Z`, or without `Z` in the reader's zone; undefined for anything else. */
export function timeIn(text: string): number | undefined {
  const epoch_ms = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d)?Z$/.test(text) ? Date.parse(text) : epochOf(text);
  return Number.isNaN(epoch_ms) ? undefined : epoch_ms;
}

/** What of the ledger a list shows, of customers the requests of their account alone. */
export function queryOf(request: PageRequest): Omit<LedgerQuery, 'limit'> {
  const { context, scope } = request;
  const filters = filtersOf(request);
  const { account, key, end, since, code, failed_at, request: part } = filters;
  const until_ms = timeIn(filters.until);
  const from_ms = timeIn(since) ?? (until_ms ?? context.clock.epoch_ms()) - spans[since]!.ms;
  const orNone = (text: string) => (text === none ? null : text || undefined);
  return {
    account: scope.account?.id ?? (account || undefined),
    model: orNone(filters.model),
    provider: orNone(filters.provider),
    key_id: key || undefined,
    error_type: orNone(filters.error_type),
    code: code || undefined,
    failed_at: failed_at || undefined,
    request_part: part || undefined,
    failed: end === 'failed',
    error_classes: end === 'service_failed' ? serviceFailures : errorClasses.filter(name => name === end),
    end_reason: endReasons.find(name => name === end),
    from_ms: Number.isFinite(from_ms) ? from_ms : undefined,
    until_ms,
  };
}

/** The time of the list in words, as in “the last 24 hours”. */
export function timeOfList({ since, until }: RequestFilters): string {
  const [from_ms, until_ms] = [timeIn(since), timeIn(until)];
  const end = until_ms === undefined ? 'now' : minuteOf(until_ms);
  if (from_ms !== undefined) return `${minuteOf(from_ms)} to ${end}`;
  if (until_ms === undefined) return since === 'all' ? 'all times' : `the last ${spans[since]!.title}`;
  return `${since === 'all' ? 'all times' : `the ${spans[since]!.title}`} up to ${end}`;
}
