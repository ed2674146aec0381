import { z } from 'zod';

const hour_ms = 3_600_000;
const units: Readonly<Record<string, number>> = { h: hour_ms, d: 24 * hour_ms };

/** A time such as `90d` or `12h` in milliseconds, `Infinity` for `never`; `undefined` for anything else. */
export function retentionMs(text: string): number | undefined {
  if (text === 'never') return Number.POSITIVE_INFINITY;
  const [, count = '', unit = ''] = /^([1-9]\d{0,5})([hd])$/.exec(text) ?? [];
  return count === '' ? undefined : Number(count) * units[unit]!;
}

/** `smallest` is the shortest time that may be set. */
const retention = (smallest: string) =>
  z
    .string()
    .refine(text => retentionMs(text) !== undefined, 'must be never, or a time such as 90d or 12h')
    .refine(
      text => (retentionMs(text) ?? Number.POSITIVE_INFINITY) >= retentionMs(smallest)!,
      `must be at least ${smallest}`,
    )
    .default('never');

/** `stores.retention`. Nothing is deleted unless it is asked for: a bill must be provable, and what is deleted cannot be had back. */
export const retentionSchema = z.strictObject({
  rows: retention('1h').describe(
    'How long the ledger has a row for each exchange: `never` deletes none, `90d` and `12h` are days and hours after its beginning. Their sums stay.',
  ),
  sums: retention('32d').describe(
    'How long usage sums by day and month, and the counts of refused requests, are kept: by whole months, `32d` at least, since budgets are read from them. In memory at most `62d`.',
  ),
});

export type RetentionConfig = z.output<typeof retentionSchema>;
