import { type CalendarPeriods, calendarPeriods } from '../../common/calendar-periods.ts';
import { type Charge, type LimitUnit, type LimitUnitName, limitUnits } from './limit-units.ts';

/** In what time amounts count under a limit: `kind` says which of three ways. `ietf_s`, in seconds, is what `RateLimit-Policy` shows. */
export type LimitWindow =
  | {
      /** Counts for a duration from each request. */
      readonly kind: 'sliding';
      /** What the duration is called in refusals. */
      readonly noun: string;
      /** The duration. */
      readonly duration_ms: number;
      /** The window in `RateLimit-Policy`, in seconds. */
      readonly ietf_s: number;
    }
  | {
      /** Counts for a period of the calendar. */
      readonly kind: 'calendar';
      /** What the limit is called in refusals. */
      readonly adjective: string;
      /** Refusals name the time at which the limit resets, or the day as well. */
      readonly resets: 'at a time' | 'on a day' | 'never';
      /** The window in `RateLimit-Policy`, in seconds; absent for what has no one length. */
      readonly ietf_s?: number;
    }
  | {
      /** Counts until the exchange is settled. */
      readonly kind: 'running';
      /** Always absent: the window has no length. */
      readonly ietf_s?: undefined;
    };

/** Window in which an amount counts. */
export const limitWindows = {
  /** Sliding window: in no 60 s is more than the limit admitted; an amount leaves after 60 to 61 s. */
  minute: { kind: 'sliding', noun: 'minute', duration_ms: 60_000, ietf_s: 60 },
  /** Days, weeks and months of the limit's time zone. */
  day: { kind: 'calendar', adjective: 'Daily', resets: 'at a time', ietf_s: 86_400 },
  week: { kind: 'calendar', adjective: 'Weekly', resets: 'on a day', ietf_s: 604_800 },
  month: { kind: 'calendar', adjective: 'Monthly', resets: 'on a day' },
  /** All time. */
  total: { kind: 'calendar', adjective: 'Total', resets: 'never' },
  /** Counts until the exchange is settled, or its process has died. */
  running: { kind: 'running' },
} as const satisfies Record<string, LimitWindow>;

export type LimitWindowName = keyof typeof limitWindows;
/** The windows that are periods of the calendar. */
export type CalendarWindowName = {
  [Name in LimitWindowName]: (typeof limitWindows)[Name]['kind'] extends 'calendar' ? Name : never;
}[LimitWindowName];

interface LimitRow {
  readonly unit: LimitUnitName;
  readonly window: LimitWindowName;
  /** Label in the dashboard. */
  readonly title: string;
  /** The policy's name in `RateLimit`; without it that header does not show the limit. */
  readonly ietf_name?: string;
  /** Description for the configuration's schema and the documents. */
  readonly description: string;
}

/**
 * All limits by their names in the configuration and in metrics, in the order in which clients see them. Everything about a
 * limit is made from its row: counters in memory and Redis, headers, refusals, schema, dashboard, what a restart restores.
 */
export const limitTable = {
  requests_per_minute: {
    unit: 'requests',
    window: 'minute',
    title: 'Requests per minute',
    ietf_name: 'rpm',
    description: 'Requests in any 60 s.',
  },
  requests_per_day: {
    unit: 'requests',
    window: 'day',
    title: 'Requests per day',
    ietf_name: 'rpd',
    description: 'Requests since 00:00 UTC.',
  },
  requests_per_month: {
    unit: 'requests',
    window: 'month',
    title: 'Requests per month',
    ietf_name: 'requests-month',
    description: 'Requests since 00:00 UTC of the first of the month.',
  },
  tokens_per_minute: {
    unit: 'tokens',
    window: 'minute',
    title: 'Tokens per minute',
    ietf_name: 'tpm',
    description: 'Tokens of prompts and completions in any 60 s.',
  },
  tokens_per_day: {
    unit: 'tokens',
    window: 'day',
    title: 'Tokens per day',
    ietf_name: 'tpd',
    description: 'Tokens of prompts and completions since 00:00 UTC.',
  },
  tokens_per_week: {
    unit: 'tokens',
    window: 'week',
    title: 'Tokens per week',
    ietf_name: 'tokens-week',
    description: 'Tokens of prompts and completions since 00:00 UTC of Monday.',
  },
  tokens_per_month: {
    unit: 'tokens',
    window: 'month',
    title: 'Tokens per month',
    ietf_name: 'tokens-month',
    description: 'Tokens of prompts and completions since 00:00 UTC of the first of the month.',
  },
  tokens_total: {
    unit: 'tokens',
    window: 'total',
    title: 'Tokens in total',
    ietf_name: 'tokens-total',
    description: 'Tokens of prompts and completions at all times: it never resets.',
  },
  concurrent_requests: {
    unit: 'leases',
    window: 'running',
    title: 'Concurrent requests',
    ietf_name: 'concurrency',
    description: 'Requests at the same time, with those that are read on after a 524.',
  },
  usd_per_day: {
    unit: 'nano_usd',
    window: 'day',
    title: 'Dollars per day',
    description: "Dollars at the catalog's prices since 00:00 UTC.",
  },
  usd_per_week: {
    unit: 'nano_usd',
    window: 'week',
    title: 'Dollars per week',
    description: "Dollars at the catalog's prices since 00:00 UTC of Monday.",
  },
  usd_per_month: {
    unit: 'nano_usd',
    window: 'month',
    title: 'Dollars per month',
    description: "Dollars at the catalog's prices since 00:00 UTC of the first of the month.",
  },
  usd_total: {
    unit: 'nano_usd',
    window: 'total',
    title: 'Dollars in total',
    description:
      "Prepaid credit: dollars at the catalog's prices at all times. It never resets; `sluice accounts credit` adds to it.",
  },
} as const satisfies Record<string, LimitRow>;

/** The name of a limit, as in `plans`. */
export type LimitName = keyof typeof limitTable;

/** The names of all limits, in their order. */
export const limitNames = Object.keys(limitTable) as readonly LimitName[];

/**
 * One limit of an account, or of one of its keys. What is counted under it is found by `counterKey`, so that another `max` does
 * not reset what was used.
 */
export interface Limit {
  /** Which of the limits. */
  readonly name: LimitName;
  /** The model that it limits; without one, all models together. */
  readonly model?: string | undefined;
  /** Id of the stored key that it limits; without one, all keys of the account together. */
  readonly key?: string | undefined;
  /** Id of the account that it limits, if that is below the root of its tree, under which all of the tree is counted. */
  readonly member?: string | undefined;
  /** Set if it is a limit of a parent of the account that counts under it. */
  readonly inherited?: true | undefined;
  /** Where its days, weeks or months begin; without one, in UTC. */
  readonly time_zone?: string | undefined;
  /** Its weeks' first day from 1 for Monday, or its months'; without one, the first. */
  readonly start_day?: number | undefined;
  /** Maximum in the limit's unit: always an integer. */
  readonly max: number;
  /** Reserves the most that a request may use, in place of an estimate. */
  readonly hard?: true | undefined;
  /** Refuses nothing. */
  readonly soft?: true | undefined;
  /** Until when `max` is a raised one, in milliseconds since 1970. */
  readonly raised_until_ms?: number | undefined;
}

/** The row of a limit. */
export const rowOf = ({ name }: Pick<Limit, 'name'>): LimitRow => limitTable[name];

/** The unit in which a limit counts. */
export const unitOf = (limit: Pick<Limit, 'name'>): LimitUnit => limitUnits[rowOf(limit).unit];

/** The window in which a limit counts. */
export const windowOf = (limit: Pick<Limit, 'name'>): LimitWindow => limitWindows[rowOf(limit).window];

/** Whether the limit is on periods of the calendar, whose use is restored from the ledger after a restart. */
export const isCalendar = (limit: Limit): boolean => windowOf(limit).kind === 'calendar';

/** Whether what is used counts at all times. */
export const neverResets = (limit: Pick<Limit, 'name'>): boolean => limitTable[limit.name].window === 'total';

/** Names the periods in which a limit counts that is on the calendar. */
export const periodKey = ({ name, time_zone = 'UTC', start_day = 1 }: Limit): string =>
  `${limitTable[name].window}@${time_zone}@${start_day}`;

/** The periods in which a limit counts that is on the calendar. */
export const periodsOf = ({ name, time_zone, start_day }: Limit): CalendarPeriods =>
  calendarPeriods(limitTable[name].window as CalendarWindowName, time_zone, start_day);

/** Name of the limit's counter within an account. */
export function counterKey({ name, model, key, member, time_zone, start_day }: Omit<Limit, 'max'>): string {
  const isOfUtc = time_zone === undefined && start_day === undefined;
  const named = isOfUtc ? name : `${name}@${time_zone ?? 'UTC'}@${start_day ?? 1}`;
  const ofModel = model === undefined ? named : `${named}:${model}`;
  if (key !== undefined) return `key:${key}:${ofModel}`;
  return member === undefined ? ofModel : `account:${encodeURIComponent(member.toWellFormed())}:${ofModel}`;
}

/** What a limit is called in metrics, logs and the ledger: `requests_per_minute`, of a key `key.requests_per_minute`, of a parent `parent.requests_per_minute`. */
export function limitLabel({ name, key, inherited }: Pick<Limit, 'name' | 'key' | 'inherited'>): string {
  if (key !== undefined) return `key.${name}`;
  return inherited ? `parent.${name}` : name;
}

/** The parts of a charge that count under limits. `leases` is 1 until the exchange is settled. */
export function amountsOf(limits: readonly Limit[], charge: Charge, leases: 0 | 1): number[] {
  const amounts = new Array<number>(limits.length);
  for (let at = 0; at < limits.length; at++) {
    const { name, hard } = limits[at]!;
    const { unit } = limitTable[name];
    if (unit === 'leases') amounts[at] = leases;
    else amounts[at] = hard && unit !== 'requests' && charge.ceiling ? charge.ceiling[unit] : charge[unit];
  }
  return amounts;
}

/** A value for each limit, by its name. */
export const forEachLimit = <T>(make: (name: LimitName) => T): Readonly<Record<LimitName, T>> =>
  Object.fromEntries(limitNames.map(name => [name, make(name)])) as Record<LimitName, T>;
