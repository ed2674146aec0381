import { jsonSizeOf, mayExceed } from '../dialects/json-size.ts';
import { type GatewayError, refusal } from '../errors.ts';
import type { BodyLimits } from './body-limits.ts';

type SizeLimits = Pick<BodyLimits, 'max_body_values' | 'max_body_keys'>;

const max_levels = 64;
/** JSON schemas of tools are deeper than conversations. */
const max_levels_in_tools = 256;

/**
 * Refuses JSON text with more values or keys than `limits` accept, before it is parsed; in time linear to its bytes. True when it is known
 * to be nested no more than anything may be, and need not be walked once it is parsed.
 */
export function checkText(bytes: Buffer, limits: SizeLimits): boolean {
  const accepted = { values: limits.max_body_values, keys: limits.max_body_keys };
  if (!mayExceed(bytes.length, accepted)) return false;
  const { values, keys, levels } = jsonSizeOf(bytes, accepted);
  if (values > accepted.values) throw tooMany('values', accepted.values);
  if (keys > accepted.keys) throw tooMany('keys', accepted.keys);
  return levels <= max_levels;
}

/**
 * Refuses a parsed body with more values or keys than `limits` accept, as a parent application may have let in, and nesting that JSON.parse
 * takes but JSON.stringify and recursive code do not (protocol m15). The walk goes no further than the limits.
 */
export function checkBody(body: Record<string, unknown>, limits: SizeLimits): void {
  const walk = new Walk(limits);
  walk.count();
  for (const name in body) {
    const levels = name === 'tools' ? max_levels_in_tools : max_levels;
    walk.member();
    if (walk.isDeeper(body[name], levels - 1)) {
      const param = name.slice(0, 64);
      const message = `${param}: is nested more than ${levels} levels deep.`;
      throw refusal('invalid_request', { message, param });
    }
  }
}

/** Counts what it passes, and throws where that is too much. */
class Walk {
  readonly #limits: SizeLimits;
  #values = 0;
  #keys = 0;

  constructor(limits: SizeLimits) {
    this.#limits = limits;
  }

  count(): void {
    if (++this.#values > this.#limits.max_body_values) throw tooMany('values', this.#limits.max_body_values);
  }

  member(): void {
    if (++this.#keys > this.#limits.max_body_keys) throw tooMany('keys', this.#limits.max_body_keys);
  }

  isDeeper(value: unknown, levels: number): boolean {
    this.count();
    if (typeof value !== 'object' || value === null) return false;
    if (levels === 0) return true;
    if (Array.isArray(value)) {
      for (const element of value) if (this.isDeeper(element, levels - 1)) return true;
      return false;
    }
    for (const key in value) {
      this.member();
      if (this.isDeeper((value as Record<string, unknown>)[key], levels - 1)) return true;
    }
    return false;
  }
}

const tooMany = (what: 'values' | 'keys', accepted: number): GatewayError =>
  refusal('invalid_request', { message: `The request body has more than the ${accepted} ${what} accepted.` });
