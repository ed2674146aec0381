import { type LimitName, limitTable } from '../gateway/limits/limit-table.ts';

type Limits = Readonly<Record<string, unknown>>;

/** Whether a limit is an amount of money, which not every operator may see or set. */
export const isMoneyLimit = (name: string): boolean =>
  Object.hasOwn(limitTable, name) && limitTable[name as LimitName].unit === 'nano_usd';

/** Limits without those in dollars, those of single models included. */
export const withoutMoney = (limits: Limits): Limits => filtered(limits, name => !isMoneyLimit(name));

/** The path of a limit in dollars among `limits`, such as `usd_per_month`; undefined without one. */
export function moneyLimitIn({ models, ...overall }: Limits): string | undefined {
  const own = Object.keys(overall).find(isMoneyLimit);
  if (own !== undefined) return own;
  for (const [model, limits] of ofModels(models)) {
    const name = Object.keys(limits).find(isMoneyLimit);
    if (name !== undefined) return `models.${model}.${name}`;
  }
  return undefined;
}

/** `limits`, with those of `before` that are in dollars: for those who cannot set these. */
export function keepingMoney({ models, ...limits }: Limits, before: Limits): Limits {
  const { models: kept, ...money } = filtered(before, isMoneyLimit);
  const names = [...ofModels(models), ...ofModels(kept)].map(([model]) => model);
  const merged = [...new Set(names)].flatMap(model => {
    const rules = { ...Object(models)[model], ...Object(kept)[model] };
    return Object.keys(rules).length > 0 || Object.hasOwn(Object(models), model) ? [[model, rules]] : [];
  });
  return { ...limits, ...money, ...(merged.length > 0 && { models: Object.fromEntries(merged) }) };
}

const ofModels = (models: unknown) => Object.entries((models ?? {}) as Readonly<Record<string, Limits>>);

/** Those of `limits`, and of its models, whose names are kept. */
function filtered({ models, ...overall }: Limits, isKept: (name: string) => boolean): Limits {
  const kept = (limits: Limits) =>
    Object.fromEntries(Object.entries(limits).filter(([name]) => isKept(name)));
  return {
    ...kept(overall),
    ...(models !== undefined && {
      models: Object.fromEntries(ofModels(models).map(([model, limits]) => [model, kept(limits)])),
    }),
  };
}
