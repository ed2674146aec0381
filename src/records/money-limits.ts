import { type LimitName, limitTable } from '../gateway/limits/limit-table.ts';

type Limits = Readonly<Record<string, unknown>>;

/** Whether a limit is an amount of money, which not every operator may see or set. */
export const isMoneyLimit = (name: string): boolean =>
  Object.hasOwn(limitTable, name) && limitTable[name as LimitName].unit === 'nano_usd';

/** Limits without those in dollars, those of single models included. */
export const withoutMoney = (limits: Limits): Limits => filtered(limits, name => !isMoneyLimit(name));

/** Those of `limits`, and of its models, whose names are kept. */
function filtered({ models, ...overall }: Limits, isKept: (name: string) => boolean): Limits {
  const kept = (limits: Limits) =>
    Object.fromEntries(Object.entries(limits).filter(([name]) => isKept(name)));
  const ofModels = Object.entries((models ?? {}) as Readonly<Record<string, Limits>>);
  return {
    ...kept(overall),
    ...(models !== undefined && {
      models: Object.fromEntries(ofModels.map(([model, limits]) => [model, kept(limits)])),
    }),
  };
}
