import { z } from 'zod';
import { exactNanoUsdOf } from './money.ts';
import type { Limit, LimitName } from './state-store.ts';

const count = z.int().positive();

const money = z
  .union([z.number(), z.string()])
  .refine(
    dollars => (exactNanoUsdOf(dollars) ?? 0) > 0,
    'must be an amount above 0 with at most 9 decimal places, such as 5 or "0.50"',
  );

/** In the order in which they are told (protocol i5). */
const amounts = {
  requests_per_minute: count.describe('Requests in any 60 s.'),
  tokens_per_minute: count.describe('Tokens of prompts and completions in any 60 s.'),
  tokens_per_day: count.describe('Tokens of prompts and completions since 00:00 UTC.'),
  concurrent_requests: count.describe('Requests at the same time, with those that are read on after a 524.'),
  usd_per_month: money.describe("Dollars at the catalog's prices since 00:00 UTC of the first of the month."),
};

export const limitNames = Object.keys(amounts) as readonly LimitName[];

const ofPlan = z.strictObject(amounts).partial();

const ofAccount = z
  .strictObject({
    requests_per_minute: amounts.requests_per_minute.nullable(),
    tokens_per_minute: amounts.tokens_per_minute.nullable(),
    tokens_per_day: amounts.tokens_per_day.nullable(),
    concurrent_requests: amounts.concurrent_requests.nullable(),
    usd_per_month: amounts.usd_per_month.nullable(),
  })
  .partial();

/** The limits of a plan, for each of its accounts. What is left out is not limited. */
export const planSchema = ofPlan.extend({
  models: z
    .record(z.string(), ofPlan)
    .optional()
    .describe('Further limits on single models by their ids, which hold beside those on all models.'),
});

/** Limits of one account. */
export const limitOverridesSchema = ofAccount.extend({
  models: z.record(z.string(), ofAccount).optional().describe('The same for the limits on single models.'),
});

export const plansSchema = z.record(z.string(), planSchema);

export type Plan = z.output<typeof planSchema>;
export type Plans = z.output<typeof plansSchema>;
export type LimitOverrides = z.output<typeof limitOverridesSchema>;
type Amounts = z.output<typeof ofAccount>;

/** The limits under which an exchange counts. */
export interface LimitSet {
  readonly limits: readonly Limit[];
  /** Those of `limits` that are reserved before the body is read: requests and concurrency over all models (protocol n20). */
  readonly beforeBody: readonly Limit[];
  /** The rest, reserved once the request is known: tokens, money, and every limit on a single model. */
  readonly withRequest: readonly Limit[];
  /** Whether one of them is on tokens, or on money, so that an estimate is needed. */
  readonly countsTokens: boolean;
  readonly countsMoney: boolean;
}

/** The limits of an account: those of its plan, name by name replaced or, by `null`, lifted by its own. */
export class AccountLimits {
  readonly #overall: LimitSet;
  /** By the models that have limits of their own. */
  readonly #byModel = new Map<string, LimitSet>();

  constructor(plan: Plan | undefined, own: LimitOverrides | undefined) {
    const overall = limitsOf({ ...plan, ...own }, undefined);
    this.#overall = setOf(overall);
    for (const model of new Set([...Object.keys(plan?.models ?? {}), ...Object.keys(own?.models ?? {})])) {
      const ofModel = limitsOf({ ...plan?.models?.[model], ...own?.models?.[model] }, model);
      this.#byModel.set(model, setOf([...overall, ...ofModel]));
    }
  }

  /** The models that have limits of their own. */
  get models(): readonly string[] {
    return [...this.#byModel.keys()];
  }

  /** Whether there is any, be it on one model alone. */
  get hasAny(): boolean {
    return [this.#overall, ...this.#byModel.values()].some(({ limits }) => limits.length > 0);
  }

  /** Those that an exchange with `model` counts under. */
  of(model: string | undefined): LimitSet {
    return (model === undefined ? undefined : this.#byModel.get(model)) ?? this.#overall;
  }
}

function limitsOf(amounts: Amounts, model: string | undefined): Limit[] {
  return limitNames.flatMap(name => {
    const amount = amounts[name] ?? undefined;
    if (amount === undefined) return [];
    const max = name === 'usd_per_month' ? exactNanoUsdOf(amount)! : Number(amount);
    return [{ name, max, ...(model !== undefined && { model }) }];
  });
}

const needsNoBody = ({ name, model }: Limit): boolean =>
  model === undefined && (name === 'requests_per_minute' || name === 'concurrent_requests');

const setOf = (limits: readonly Limit[]): LimitSet => ({
  limits,
  beforeBody: limits.filter(needsNoBody),
  withRequest: limits.filter(limit => !needsNoBody(limit)),
  countsTokens: limits.some(({ name }) => name === 'tokens_per_minute' || name === 'tokens_per_day'),
  countsMoney: limits.some(({ name }) => name === 'usd_per_month'),
});
