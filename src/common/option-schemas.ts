import { z } from 'zod';

/** A switch that is off by default. */
export const off = (description: string) => z.boolean().default(false).describe(description);

/** A positive number of milliseconds. */
export const ms = (value: number) => z.int().positive().default(value);
