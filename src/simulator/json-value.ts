/** A JSON object whose members have not been looked at yet. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** True for a JSON object: not null and not an array. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
