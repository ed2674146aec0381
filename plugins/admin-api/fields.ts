import { z } from 'zod';
import { modelListSchema } from '../../src/plugin.ts';
import { apiError } from './api-error.ts';

/** A time of a record as it is shown. */
export const timeOf = (at_ms: number): string => new Date(at_ms).toISOString();

/** The same where there may be none. */
export const timeOrNull = (at_ms: number | null): string | null => (at_ms === null ? null : timeOf(at_ms));

/** Times in replies. */
export const time = z.iso.datetime();

/** A time in a request. */
export const givenTime = z.iso
  .datetime({ offset: true })
  .describe('RFC 3339, such as `2027-01-31T18:00:00Z`.');

/** Milliseconds since 1970 at which a key, or what the field `param` is of, is to end. Throws the error that names the field for what has passed. */
export function endOf(text: string | null, now_ms: number, param = 'expires_at'): number | null {
  const at_ms = text === null ? null : Date.parse(text);
  if (at_ms === null || at_ms > now_ms) return at_ms;
  throw apiError('invalid_request', { message: `${param} has passed already.`, param });
}

/** Limits as they are kept. */
export const shownLimits = z
  .record(z.string(), z.unknown())
  .describe('As in the configuration; amounts of money are left out for operators.');

/** A list of models in a request; `null` for no list. */
export const givenModels = modelListSchema.max(1000).nullable();
