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
  const fixed = fixedValue(schema, dice);
  if (fixed !== undefined) return fixed;
  const type = schemaType(schema);
  switch (type) {
    case 'object':
      return depth < MAX_DEPTH ? sampleObject(schema, words, dice, depth) : {};
    case 'array':
      return depth < MAX_DEPTH ? [sampleSchema(schema.items, words, dice, depth + 1)] : [];
    case 'integer':
    case 'number':
      return sampleNumber(schema, dice);
    case 'boolean':
      return dice.roll() < 0.5;
    case 'null':
      return null;
    default:
      return (typeof schema.format === 'string' && STRINGS[schema.format]) || dice.pick(words);
  }
}

function sampleObject(
  schema: JsonObject,
  words: readonly string[],
  dice: Dice,
  depth: number,
): Record<string, unknown> {
  const properties = isObject(schema.properties) ? Object.entries(schema.properties) : [];
  return Object.fromEntries(
    properties
      .slice(0, MAX_PROPERTIES)
      .map(([name, inner]) => [name, sampleSchema(inner, words, dice, depth + 1)]),
  );
}

function fixedValue(schema: JsonObject, dice: Dice): unknown {
  if (schema.const !== undefined) return schema.const;
  if (Array.isArray(schema.enum) && schema.enum.length > 0) return dice.pick<unknown>(schema.enum);
  return schema.default;
}

function schemaType(schema: JsonObject): unknown {
  if (Array.isArray(schema.type)) return schema.type.find(type => type !== 'null');
  if (schema.type === undefined && isObject(schema.properties)) return 'object';
  return schema.type;
}

function sampleNumber(schema: JsonObject, dice: Dice): number {
  const min = typeof schema.minimum === 'number' ? Math.ceil(schema.minimum) : 1;
  const max = typeof schema.maximum === 'number' ? Math.floor(schema.maximum) : min + 19;
  return dice.integer(min, Math.max(min, max));
}

const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
