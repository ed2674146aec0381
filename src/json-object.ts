/** A JSON object of unknown content. */
export type Json = Record<string, unknown>;

/** Whether `value` is an object with names, neither null nor an array. */
export const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The value, or an empty object if it is not an object. */
export const asObject = (value: unknown): Json => (isObject(value) ? value : {});
