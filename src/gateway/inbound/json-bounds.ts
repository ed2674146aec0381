import { type CountedJson, type JsonSize, jsonSizeOf, mayExceed } from '../../common/json-size.ts';
import { type GatewayError, refusal } from '../exchange/errors.ts';
import type { BodyLimits } from './body-limits.ts';

type SizeLimits = Pick<BodyLimits, 'max_body_values' | 'max_body_keys'>;

/** Counts of a parsed body, and the UTF-16 units of its texts and keys. */
export interface BodySize extends JsonSize {
  readonly characters: number;
}

const max_levels = 64;
/** JSON schemas of tools are deeper than conversations. */
const max_levels_in_tools = 256;

/**
 * Rejects JSON text with more values or keys than `limits` before it is parsed, in time linear to its bytes. Returns its counts; undefined for
 * text too short to have as many.
 */
export function checkText(bytes: Buffer, limits: SizeLimits): CountedJson | undefined {
  const accepted = { values: limits.max_body_values, keys: limits.max_body_keys };
  if (!mayExceed(bytes.length, accepted)) return undefined;
  const size = jsonSizeOf(bytes, accepted);
  if (size.values > accepted.values) throw tooMany('values', accepted.values);
  if (size.keys > accepted.keys) throw tooMany('keys', accepted.keys);
  return size;
}

/** Whether text with these counts cannot be nested too deeply, and need not be checked once parsed. */
export const isShallow = ({ levels }: CountedJson): boolean => levels <= max_levels;

/**
 * Rejects a parsed body with more values or keys than `limits`, since a parent application may have parsed it, and nesting that JSON.parse
 * accepts but JSON.stringify and recursive code do not. The walk stops at the limits. Returns the counts.
 */
export function checkBody(body: Record<string, unknown>, limits: SizeLimits): BodySize {
  const walk = new Walk(limits);
  for (const name in body) {
    walk.keys++;
    walk.characters += name.length;
    const levels = name === 'tools' ? max_levels_in_tools : max_levels;
    if (walk.isDeeper(body[name], levels - 1)) {
      const param = name.slice(0, 64);
      const message = `${param}: is nested more than ${levels} levels deep.`;
      throw refusal('invalid_request', { message, param });
    }
  }
  return walk;
}

/** Walks a value, counts what it visits, and throws above the limits. */
class Walk implements BodySize {
  readonly #limits: SizeLimits;
  /** With the body itself. */
  values = 1;
  keys = 0;
  characters = 0;

  constructor(limits: SizeLimits) {
    this.#limits = limits;
  }

  isDeeper(value: unknown, levels: number): boolean {
    const { max_body_values, max_body_keys } = this.#limits;
    if (++this.values > max_body_values) throw tooMany('values', max_body_values);
    if (this.keys > max_body_keys) throw tooMany('keys', max_body_keys);
    if (typeof value === 'string') this.characters += value.length;
    if (typeof value !== 'object' || value === null) return false;
    if (levels === 0) return true;
    if (Array.isArray(value)) {
      for (const element of value) if (this.isDeeper(element, levels - 1)) return true;
      return false;
    }
    for (const key in value) {
      this.keys++;
      this.characters += key.length;
      if (this.isDeeper((value as Record<string, unknown>)[key], levels - 1)) return true;
    }
    return false;
  }
}

const tooMany = (what: 'values' | 'keys', accepted: number): GatewayError =>
  refusal('invalid_request', { message: `The request body has more than the ${accepted} ${what} accepted.` });
