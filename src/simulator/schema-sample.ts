import type { Dice } from './seed.ts';

type JsonObject = Readonly<Record<string, unknown>>;

const MAX_DEPTH = 4;
const MAX_PROPERTIES = 16;
const STRINGS: Readonly<Record<string, string>> = {
  date: '2026-01-31',
  time: '12:30:00Z',
  'date-time': '2026-01-31T12:30:00Z',
  email: 'someone@example.com',
  uri: 'https://example.com/',
  uuid: '00000000-0000-4000-8000-000000000000',
};

/** A value that a JSON schema of the common kind accepts; strings are taken from `words`, which must not be empty. */
export function sampleSchema(schema: unknown, words: readonly string[], dice: Dice, depth = 0): unknown {
  if (!isObject(schema)) return dice.pick(words);
  const { const: constant, enum: choices, default: initial, properties, items, format } = schema;
  if (constant !== undefined) return constant;
  if (Array.isArray(choices) && choices.length > 0) return dice.pick<unknown>(choices);
  if (initial !== undefined) return initial;
  const inner = (part: unknown) => sampleSchema(part, words, dice, depth + 1);
  switch (typeOf(schema)) {
    case 'object': {
      const named = depth < MAX_DEPTH && isObject(properties) ? Object.entries(properties) : [];
      return Object.fromEntries(named.slice(0, MAX_PROPERTIES).map(([name, part]) => [name, inner(part)]));
    }
    case 'array':
      return depth < MAX_DEPTH ? [inner(items)] : [];
    case 'integer':
    case 'number':
      return sampleNumber(schema, dice);
    case 'boolean':
      return dice.roll() < 0.5;
    case 'null':
      return null;
    default:
      return (typeof format === 'string' && STRINGS[format]) || dice.pick(words);
  }
}

function typeOf({ type, properties }: JsonObject): unknown {
  if (Array.isArray(type)) return type.find(one => one !== 'null');
  return type ?? (isObject(properties) ? 'object' : undefined);
}

function sampleNumber({ minimum, maximum }: JsonObject, dice: Dice): number {
  const min = typeof minimum === 'number' ? Math.ceil(minimum) : 1;
  const max = typeof maximum === 'number' ? Math.floor(maximum) : min + 19;
  return dice.integer(min, Math.max(min, max));
}

const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
