import { z } from 'zod';

/** Schema for an object given in code that must have `methods`. `what` names it in messages: `a prom-client Registry`. */
export function withMethods<T>(what: string, methods: readonly string[]): z.ZodType<T> {
  const missing = (value: unknown): readonly string[] =>
    typeof value === 'object' && value !== null
      ? methods.filter(name => typeof (value as Record<string, unknown>)[name] !== 'function')
      : methods;
  return z.custom<T>(value => missing(value).length === 0, {
    error: ({ input }) =>
      typeof input === 'object' && input !== null
        ? `must be ${what}; methods that it lacks: ${missing(input).join(', ')}`
        : `must be ${what}, an object with the methods ${methods.join(', ')}`,
  });
}

/** Schema for a function given in code. */
export const aFunction = <T>(what: string): z.ZodType<T> =>
  z.custom<T>(value => typeof value === 'function', `must be a function: ${what}`);

/** Whether `value` is a zod schema of an object, of any copy of zod 4. */
export function isObjectSchema(value: unknown): value is z.ZodObject {
  const { _zod, shape } = Object(value) as { _zod?: unknown; shape?: unknown };
  return _zod !== undefined && typeof shape === 'object';
}
