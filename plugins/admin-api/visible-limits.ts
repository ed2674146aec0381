import { keepingMoney, moneyLimitIn, withoutMoney } from '../../src/plugin.ts';
import { apiError } from './api-error.ts';
import { seesMoney } from './permissions.ts';
import type { Caller } from './route.ts';

type Limits = Readonly<Record<string, unknown>>;

/** Limits as `caller` may see them. Text that is no limits, as after a change by hand, is none. */
export function limitsFor({ role }: Caller, limits: Limits): Limits {
  if (typeof limits !== 'object') return {};
  return seesMoney(role) ? limits : withoutMoney(limits);
}

/** What becomes of the limits `before` if `caller` gives these in their place: amounts of money that a caller does not see stay. Throws 403 for setting one. */
export function limitsBy({ role }: Caller, given: Limits, before: Limits = {}): Limits {
  if (seesMoney(role)) return given;
  const name = moneyLimitIn(given);
  if (name === undefined) return keepingMoney(given, before);
  throw apiError('permission_denied', {
    message: `The role ${role} does not set amounts of money.`,
    param: `limits.${name}`,
  });
}
