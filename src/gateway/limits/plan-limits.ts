import { z } from 'zod';
import { shown } from '../../common/field-path.ts';
import type { PlanOptions } from '../../common/options.ts';
import {
  forEachLimit,
  type Limit,
  type LimitName,
  limitNames,
  limitTable,
  rowOf,
  unitOf,
} from './limit-table.ts';
import { countedAmount, limitUnits } from './limit-units.ts';

/** The rule of an amount that is estimated before a request goes upstream, and so can be reserved in two ways. `what` is accepted. */
const ruleOf = <A extends z.ZodType>(amount: A, what: string) => {
  const rule = z.strictObject({
    limit: amount.describe('The amount.'),
    hard: z
      .boolean()
      .optional()
      .describe(
        'Reserve the most that a request may use, and refuse what does not fit; `false` reserves an estimate. By default true of money, false of tokens.',
      ),
  });
  return z.union([amount, rule], {
    error: ({ input }) =>
      typeof input === 'object' && input !== null
        ? `must be ${what}, or { limit: ${what}, hard: true or false }`
        : `must be ${what}, not ${shown(input)}`,
  });
};

const rules = {
  requests: limitUnits.requests.schema,
  leases: limitUnits.leases.schema,
  tokens: ruleOf(limitUnits.tokens.schema, 'a number'),
  nano_usd: ruleOf(limitUnits.nano_usd.schema, 'a number of dollars'),
};

type AmountSchemas = { readonly [N in LimitName]: (typeof rules)[(typeof limitTable)[N]['unit']] };

const amounts = forEachLimit(name => {
  const { unit, description } = limitTable[name];
  return rules[unit].describe(
    limitUnits[unit].isKnownBeforeBody ? description : `${description} The amount, or \`{ limit, hard }\`.`,
  );
}) as AmountSchemas;

const nullableAmounts = forEachLimit(name => amounts[name].nullable()) as {
  readonly [N in LimitName]: z.ZodNullable<AmountSchemas[N]>;
};

const amountsOfPlan = z.strictObject(amounts).partial();
const amountsOfAccount = z.strictObject(nullableAmounts).partial();

/** The limits of a plan, for each of its accounts. What is left out is not limited. */
export const planSchema = amountsOfPlan.extend({
  models: z
    .record(z.string(), amountsOfPlan)
    .optional()
    .describe('Further limits on single models by their ids, which hold beside those on all models.'),
});

/** Limits of one account. */
export const limitOverridesSchema = amountsOfAccount.extend({
  models: z
    .record(z.string(), amountsOfAccount)
    .optional()
    .describe('The same for the limits on single models.'),
});

/** Limits of one key, which hold beside those of its account. */
export const keyLimitsSchema = amountsOfPlan;

/** Schema of limits by plan, for options of stages. */
export const plansSchema = z.record(z.string(), planSchema);

/** The limits of a plan. */
export type Plan = PlanOptions;
/** Limits by the name of the plan. */
export type Plans = z.output<typeof plansSchema>;
export type LimitOverrides = z.output<typeof limitOverridesSchema>;
/** Limits of one key. */
export type KeyLimits = Omit<Plan, 'models'>;

/** A limit as it is configured: its amount, or that and how it reserves. */
export type LimitRule =
  | number
  | string
  | { readonly limit: number | string; readonly hard?: boolean | undefined };

/** The amount of a rule. */
export const amountOfRule = (rule: LimitRule): number | string =>
  typeof rule === 'object' ? rule.limit : rule;

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

  constructor(plan: Plan | undefined, own: LimitOverrides | undefined, key?: LimitedKey, tree?: PlaceInTree) {
    const sources = [{ plan, own, mark: tree && { member: tree.id } }, ...inherited(tree)];
    const overall = sources.flatMap(({ plan, own, mark }) => limitsOf({ ...plan, ...own }, mark));
    if (key) overall.push(...limitsOf(key.limits, { key: key.id }));
    const named = sources.flatMap(({ plan, own }) => [plan?.models ?? {}, own?.models ?? {}]);
    this.models = [...new Set(named.flatMap(models => Object.keys(models)))];
    this.#overall = setOf(overall);
    this.#byModel = new Map(
      this.models.map(model => {
        const ofModel = sources.flatMap(({ plan, own, mark }) =>
          limitsOf({ ...plan?.models?.[model], ...own?.models?.[model] }, { ...mark, model }),
        );
        return [model, setOf([...overall, ...ofModel])];
      }),
    );
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

function limitsOf(amounts: z.output<typeof amountsOfAccount>, mark?: Partial<Limit>): Limit[] {
  return limitNames.flatMap(name => {
    const rule: LimitRule | undefined = amounts[name] ?? undefined;
    if (rule === undefined) return [];
    const { unit } = limitTable[name];
    const { hard = unit === 'nano_usd' } = typeof rule === 'object' ? rule : {};
    return [
      {
        name,
        max: countedAmount(unit, amountOfRule(rule)),
        ...mark,
        ...(hard && { hard }),
      },
    ];
  });
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
