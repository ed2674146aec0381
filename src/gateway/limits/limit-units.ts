import { z } from 'zod';
import { exactNanoUsdOf } from '../../common/money.ts';

/** What an exchange reserves or has used. Integers. */
export interface Charge {
  /** 1; at settlement 0 for an exchange that failed for the gateway's or the provider's reasons, which returns its request. */
  readonly requests: number;
  /** Of prompt and completion together. */
  readonly tokens: number;
  /** Billionths of a US dollar, rounded up. */
  readonly nano_usd: number;
  /** The most that the exchange may use, which hard limits reserve in place of the above; absent where none is hard. */
  readonly ceiling?: { readonly tokens: number; readonly nano_usd: number } | undefined;
}

const count = z.int().positive();

const money = z
  .union([z.number(), z.string()])
  .meta({ shown: true })
  .refine(
    dollars => (exactNanoUsdOf(dollars) ?? 0) > 0,
    'must be an amount above 0 with at most 9 decimal places, such as 5 or "0.50"',
  );

/** What limits count in. */
export interface LimitUnit {
  /** The unit in refusals. */
  readonly noun: string;
  /** The end of `x-ratelimit-limit-…`; without it those headers do not show the unit. */
  readonly header?: string;
  /** The parameter `qu` of `RateLimit-Policy`; requests are its default. */
  readonly ietf_unit?: string;
  /** Known before the body is read, so that it is reserved then. */
  readonly isKnownBeforeBody: boolean;
  /** Amounts in the configuration. */
  readonly schema: z.ZodType<number | string>;
}

/** What limits count: fields of a `Charge`, and `leases`, of which an exchange holds one until it is settled. */
export const limitUnits = {
  requests: { noun: 'request', header: 'requests', isKnownBeforeBody: true, schema: count },
  tokens: { noun: 'token', header: 'tokens', ietf_unit: 'tokens', isKnownBeforeBody: false, schema: count },
  leases: {
    noun: 'concurrent request',
    ietf_unit: 'concurrent-requests',
    isKnownBeforeBody: true,
    schema: count,
  },
  nano_usd: { noun: 'spending', isKnownBeforeBody: false, schema: money },
} as const satisfies Record<Exclude<keyof Charge, 'ceiling'> | 'leases', LimitUnit>;

export type LimitUnitName = keyof typeof limitUnits;

/** The amount of a limit as it is counted. `amount` is one that the unit's schema admits. */
export const countedAmount = (unit: LimitUnitName, amount: number | string): number =>
  unit === 'nano_usd' ? exactNanoUsdOf(amount)! : Number(amount);
