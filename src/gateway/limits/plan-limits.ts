import { z } from 'zod';
import { systemClock } from '../../common/clock.ts';
import { shown } from '../../common/field-path.ts';
import type { PlanOptions } from '../../common/options.ts';
import { timeZoneName } from '../../common/time-zone.ts';
import {
  forEachLimit,
  type Limit,
  type LimitName,
  type LimitWindowName,
  limitNames,
  limitTable,
  rowOf,
  unitOf,
} from './limit-table.ts';
import { countedAmount, type LimitUnitName, limitUnits } from './limit-units.ts';

const amounts = {
  requests: { schema: limitUnits.requests.schema, what: 'a number' },
  leases: { schema: limitUnits.leases.schema, what: 'a number' },
  tokens: { schema: limitUnits.tokens.schema, what: 'a number' },
  nano_usd: { schema: limitUnits.nano_usd.schema, what: 'a number of dollars' },
};

/** Of amounts that are estimated before a request goes upstream, and so can be reserved in two ways. */
const reserved = {
  hard: z
    .boolean()
    .optional()
    .describe(
      'Reserve the most that a request may use, and refuse what does not fit; `false` reserves an estimate. By default true of money, false of tokens.',
    ),
};
const rulesOfUnits = { requests: {}, leases: {}, tokens: reserved, nano_usd: reserved };

const weekdays = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'] as const;
const time_zone = z
  .string()
  .refine(name => timeZoneName(name) !== undefined, 'must be a time zone such as Europe/Berlin')
  .meta({ shown: true })
  .optional();
const zoned = {
  time_zone: time_zone.describe('Where its days begin, such as `Europe/Berlin`; UTC by default.'),
};
const rulesOfWindows = {
  minute: {},
  running: {},
  total: {},
  day: zoned,
  week: {
    ...zoned,
    start_day: z.enum(weekdays).optional().describe('The first day of its weeks; `monday` by default.'),
  },
  month: {
    ...zoned,
    start_day: z
      .int()
      .min(1)
      .max(28)
      .optional()
      .describe('The day with which its months begin; 1 by default.'),
  },
};

/** An amount, or an object of it and how it counts. */
const ruleOf = <U extends LimitUnitName, W extends LimitWindowName>(unit: U, window: W) => {
  const { schema, what } = amounts[unit];
  const rule = z.strictObject({
    limit: schema.describe('The amount.') as (typeof amounts)[U]['schema'],
    ...rulesOfUnits[unit],
    soft: z
      .boolean()
      .optional()
      .describe('Refuse nothing. What is above it is counted, logged and shown. Never with `hard`.'),
    ...rulesOfWindows[window],
    raised: z
      .strictObject({
        limit: schema.describe('The amount until then.') as (typeof amounts)[U]['schema'],
        until: z.iso.datetime({ offset: true }).describe('RFC 3339, such as `2026-12-31T23:00:00Z`.'),
      })
      .optional()
      .describe('Another amount for a time, which begins and ends at every instance without a reload.'),
  });
  const checked = rule.refine(
    (given: { hard?: unknown; soft?: unknown }) => !(given.soft && given.hard),
    'must not be hard and soft',
  );
  return z.union([schema as (typeof amounts)[U]['schema'], checked], {
    error: ({ input }) =>
      typeof input === 'object' && input !== null
        ? `must be ${what}, or an object of ${Object.keys(rule.shape).join(', ')}`
        : `must be ${what}, not ${shown(input)}`,
  });
};

type RuleSchemas = {
  readonly [N in LimitName]: ReturnType<
    typeof ruleOf<(typeof limitTable)[N]['unit'], (typeof limitTable)[N]['window']>
  >;
};

/** The amount of each limit, or an object of it and how it counts. */
export const ruleSchemas = forEachLimit(name => {
  const { unit, window, description } = limitTable[name];
  return ruleOf(unit, window).describe(`${description} The amount, or an object with it.`);
}) as unknown as RuleSchemas;

const nullableRules = forEachLimit(name => ruleSchemas[name].nullable()) as {
  readonly [N in LimitName]: z.ZodNullable<RuleSchemas[N]>;
};

const amountsOfPlan = z.strictObject(ruleSchemas).partial();
const amountsOfAccount = z.strictObject(nullableRules).partial();
const zoneOfAll = {
  time_zone: time_zone.describe(
    'The time zone of those limits on days, weeks and months that name none; UTC by default.',
  ),
};

/** The limits of a plan, for each of its accounts. What is left out is not limited. */
export const planSchema = amountsOfPlan.extend({
  ...zoneOfAll,
  models: z
    .record(z.string(), amountsOfPlan)
    .optional()
    .describe('Further limits on single models by their ids, which hold beside those on all models.'),
});

/** Limits of one account. */
export const limitOverridesSchema = amountsOfAccount.extend({
  ...zoneOfAll,
  models: z
    .record(z.string(), amountsOfAccount)
    .optional()
    .describe('The same for the limits on single models.'),
});

/** Limits of one key, which hold beside those of its account. */
export const keyLimitsSchema = amountsOfPlan.extend(zoneOfAll);

/** Schema of limits by plan, for options of stages. */
export const plansSchema = z.record(z.string(), planSchema);

/** The limits of a plan. */
export type Plan = PlanOptions;
/** Limits by the name of the plan. */
export type Plans = z.output<typeof plansSchema>;
export type LimitOverrides = z.output<typeof limitOverridesSchema>;
/** Limits of one key. */
export type KeyLimits = Omit<Plan, 'models'>;

/** A limit as it is configured, with more than its amount. */
export interface LimitRuleFields {
  /** The amount. */
  readonly limit: number | string;
  /** Whether it reserves the most that a request may use. */
  readonly hard?: boolean | undefined;
  /** Whether it refuses nothing. */
  readonly soft?: boolean | undefined;
  /** Where its days begin. */
  readonly time_zone?: string | undefined;
  /** The first day of its weeks by its name, or that of its months. */
  readonly start_day?: (typeof weekdays)[number] | number | undefined;
  /** Another amount until a time in RFC 3339. */
  readonly raised?: { readonly limit: number | string; readonly until: string } | undefined;
}

/** A limit as it is configured: its amount, or an object with it. */
export type LimitRule = number | string | LimitRuleFields;

/** All fields of a rule. */
export const fieldsOfRule = (rule: LimitRule): LimitRuleFields =>
  typeof rule === 'object' ? rule : { limit: rule };

/** The amount of a rule, that is not raised. */
export const amountOfRule = (rule: LimitRule): number | string => fieldsOfRule(rule).limit;

/** A key with limits. */
export interface LimitedKey {
  /** Its id, under which is counted. */
  readonly id: string;
  /** Its limits. */
  readonly limits: KeyLimits;
}

/** Where the limits of an account are from. */
export interface LimitsOfOne {
  /** Id of the account. */
  readonly id: string;
  /** Those of its plan. */
  readonly plan: Plan | undefined;
  /** Those that replace them. */
  readonly own: LimitOverrides | undefined;
}

/** The place of an account below others. */
export interface PlaceInTree {
  /** Id of the account. */
  readonly id: string;
  /** Its parent first, the root of the tree last. */
  readonly parents: readonly LimitsOfOne[];
}

/** The limits under which an exchange counts. */
export interface LimitSet {
  /** All of them. */
  readonly limits: readonly Limit[];
  /** Those of `limits` that are reserved before the body is read: requests and concurrency over all models. */
  readonly beforeBody: readonly Limit[];
  /** The rest, reserved once the request is known: tokens, money, and every limit on a single model. */
  readonly withRequest: readonly Limit[];
  /** Whether one of them is on tokens, or on money, so that an estimate is needed. */
  readonly countsTokens: boolean;
  /** The same of money alone. */
  readonly countsMoney: boolean;
  /** Whether one of them is hard, so that the most that a request may use is needed. */
  readonly isHard: boolean;
}

/**
 * The limits of an account: those of its plan, each replaced or, by `null`, lifted by its own; and beside them those of the key that was
 * used, and of the account's parents.
 */
export class AccountLimits {
  /** The models that have limits of their own. */
  readonly models: readonly string[];
  readonly #overall: LimitSet;
  readonly #byModel: ReadonlyMap<string, LimitSet>;

  /** When one of them ends to be raised, so that the limits are others from then on; infinite if none is. */
  readonly ends_ms: number;

  /** Those that hold at a time. */
  constructor(
    plan: Plan | undefined,
    own: LimitOverrides | undefined,
    key?: LimitedKey,
    tree?: PlaceInTree,
    now_ms = systemClock.epoch_ms(),
  ) {
    const limitsOf = (amounts: Amounts, mark?: Partial<Limit>, time_zone = amounts.time_zone) =>
      limitNames.flatMap(name => limitOf(name, amounts[name], { mark, time_zone, now_ms }) ?? []);
    const sources = [{ plan, own, mark: tree && { member: tree.id } }, ...inherited(tree)];
    const overall = sources.flatMap(({ plan, own, mark }) => limitsOf({ ...plan, ...own }, mark));
    if (key) overall.push(...limitsOf(key.limits, { key: key.id }));
    const named = sources.flatMap(({ plan, own }) => [plan?.models ?? {}, own?.models ?? {}]);
    this.models = [...new Set(named.flatMap(models => Object.keys(models)))];
    this.#overall = setOf(overall);
    this.#byModel = new Map(
      this.models.map(model => {
        const ofModel = sources.flatMap(({ plan, own, mark }) =>
          limitsOf(
            { ...plan?.models?.[model], ...own?.models?.[model] },
            { ...mark, model },
            own?.time_zone ?? plan?.time_zone,
          ),
        );
        return [model, setOf([...overall, ...ofModel])];
      }),
    );
    this.ends_ms = Math.min(...this.all.map(({ raised_until_ms = Infinity }) => raised_until_ms));
  }

  /** Every limit once: those on all models, then those on single ones. */
  get all(): readonly Limit[] {
    const ofModels = [...this.#byModel.values()].flatMap(({ limits }) =>
      limits.filter(({ model }) => model !== undefined),
    );
    return [...this.#overall.limits, ...ofModels];
  }

  /** Those that an exchange with `model` counts under. */
  of(model: string | undefined): LimitSet {
    return (model === undefined ? undefined : this.#byModel.get(model)) ?? this.#overall;
  }
}

/** Those of the root are marked as its own would be. */
const inherited = ({ parents }: Pick<PlaceInTree, 'parents'> = { parents: [] }) =>
  parents.map(({ id, ...limits }, at) => ({
    ...limits,
    mark: { inherited: true as const, ...(at < parents.length - 1 && { member: id }) },
  }));

type Amounts = z.output<typeof amountsOfAccount> & { readonly time_zone?: string | undefined };

/** What a limit has beside its rule. */
interface Beside {
  readonly mark: Partial<Limit> | undefined;
  readonly time_zone: string | undefined;
  readonly now_ms: number;
}

/** The limit of a rule at a time; undefined without one. */
function limitOf(name: LimitName, rule: LimitRule | null | undefined, beside: Beside): Limit | undefined {
  if (rule === undefined || rule === null) return undefined;
  const { unit, window } = limitTable[name];
  const { limit, soft, hard = unit === 'nano_usd' && !soft, raised, ...days } = fieldsOfRule(rule);
  const until_ms = raised ? Date.parse(raised.until) : 0;
  const isRaised = raised !== undefined && until_ms > beside.now_ms;
  const named = days.time_zone ?? beside.time_zone;
  const zone = named === undefined ? 'UTC' : timeZoneName(named);
  const { start_day = 1 } = days;
  const first = typeof start_day === 'number' ? start_day : weekdays.indexOf(start_day) + 1;
  return {
    name,
    max: countedAmount(unit, isRaised ? raised.limit : limit),
    ...beside.mark,
    ...(zone !== 'UTC' && 'time_zone' in rulesOfWindows[window] && { time_zone: zone }),
    ...(first > 1 && { start_day: first }),
    ...(hard && { hard }),
    ...(soft && { soft }),
    ...(isRaised && { raised_until_ms: until_ms }),
  };
}

const isBeforeBody = (limit: Limit): boolean => limit.model === undefined && unitOf(limit).isKnownBeforeBody;

const setOf = (limits: readonly Limit[]): LimitSet => ({
  limits,
  beforeBody: limits.filter(isBeforeBody),
  withRequest: limits.filter(limit => !isBeforeBody(limit)),
  countsTokens: limits.some(limit => rowOf(limit).unit === 'tokens'),
  countsMoney: limits.some(limit => rowOf(limit).unit === 'nano_usd'),
  isHard: limits.some(({ hard }) => hard),
});
