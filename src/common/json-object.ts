/** A JSON object of unknown content. */
export type Json = Record<string, unknown>;

/** Whether `value` is an object with names, neither null nor an array. */
export const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Whether a value from JSON has more than `levels` levels of objects and arrays. Looks no deeper than that. */
export function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (levels === 0) return true;
  if (Array.isArray(value)) return value.some(element => isDeeper(element, levels - 1));
  for (const name in value) if (isDeeper((value as Json)[name], levels - 1)) return true;
  return false;
}

/** The value, or an empty object if it is not an object. */
export const asObject = (value: unknown): Json => (isObject(value) ? value : {});

/** The entries of a list, each as `asObject` has it; none of what is no list. */
export const objectsIn = (value: unknown): Json[] => (Array.isArray(value) ? value.map(asObject) : []);

/** The texts in a list; none of what is no list. */
export const textsIn = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter(element => typeof element === 'string') : [];
