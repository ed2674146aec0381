/** Counts of a JSON text. */
export interface JsonSize {
  /** Objects, arrays, strings, numbers and literals, the outermost included. */
  readonly values: number;
  /** Members of objects; a name that is repeated counts each time. */
  readonly keys: number;
}

/** The most that is parsed of the arguments of tool calls, which are texts within a body: the default limits of whole request bodies. */
export const max_arguments_size: JsonSize = { values: 300_000, keys: 150_000 };

/** The most that is accepted of a JSON text. */
export interface JsonLimits extends JsonSize {
  /** Objects and arrays, which take most memory; any number without it. */
  readonly containers?: number;
}

/** Counts of a JSON text and its depth of nesting. */
export interface CountedJson extends Required<JsonLimits> {
  readonly levels: number;
}

/** The fewest bytes of a value with the comma before it, and of a member. */
const value_bytes = 2;
const key_bytes = 5;

/** False for text too short to exceed `limits`, as nearly every request is. */
export const mayExceed = (bytes: number, limits: JsonSize): boolean =>
  bytes >= Math.min(value_bytes * limits.values, key_bytes * limits.keys);

/**
 * Counts the values and keys of UTF-8 JSON in one pass, until a count exceeds its limit. To be called before `JSON.parse`, which makes an
 * object of 56 bytes from the two bytes `{}`, and 40 bytes from each open bracket. Invalid JSON gets some count.
 */
export function jsonSizeOf(bytes: Uint8Array, limits: JsonLimits): CountedJson {
  const { containers: max_containers = Number.POSITIVE_INFINITY } = limits;
  let values = 1;
  let containers = 0;
  let level = 0;
  let levels = 0;
  let keys = 0;
  // True after an opening bracket: an array or object that is not empty has one value more than commas.
  let opened = false;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]!;
    if (byte <= 0x20) continue;
    if (opened) {
      opened = false;
      if (byte !== 0x5d && byte !== 0x7d) values++;
    }
    if (byte === 0x22) at = endOfString(bytes, at + 1);
    else if (byte === 0x2c) values++;
    else if (byte === 0x3a) keys++;
    else if (byte === 0x5d || byte === 0x7d) level--;
    else if (byte === 0x5b || byte === 0x7b) {
      opened = true;
      containers++;
      if (++level > levels) levels = level;
    }
    if (values > limits.values || keys > limits.keys || containers > max_containers) break;
  }
  return { values, keys, containers, levels };
}

/** Whether JSON text has more values or keys than `limits`, counted only where it may. */
export function exceeds(text: string, limits: JsonSize): boolean {
  if (!mayExceed(text.length, limits)) return false;
  const { values, keys } = jsonSizeOf(Buffer.from(text), limits);
  return values > limits.values || keys > limits.keys;
}

/** Index of the quote that closes the string, or the end of the text. */
function endOfString(bytes: Uint8Array, at: number): number {
  let end = at;
  while (end < bytes.length && bytes[end] !== 0x22) end += bytes[end] === 0x5c ? 2 : 1;
  return end;
}
