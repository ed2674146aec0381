import { z } from 'zod';

/**
 * The names that `schema` accepts at `path`, for messages about unknown names. Empty where any name is accepted. Where a field decides
 * between several objects, the one of `value` counts.
 */
export function acceptedAt(
  schema: z.ZodType,
  path: readonly PropertyKey[],
  value?: unknown,
): readonly string[] {
  let current: z.ZodType | undefined = schema;
  let given: unknown = value;
  for (const part of path) {
    current = current && below(current, part);
    given = memberOf(given, part);
  }
  return names(current, given);
}

const memberOf = (value: unknown, part: PropertyKey): unknown =>
  typeof value === 'object' && value !== null ? (value as Record<PropertyKey, unknown>)[part] : undefined;

function unwrapped(schema: z.ZodType): z.ZodType {
  let current = schema;
  while (
    current instanceof z.ZodOptional ||
    current instanceof z.ZodDefault ||
    current instanceof z.ZodPrefault ||
    current instanceof z.ZodNullable
  ) {
    current = current.def.innerType as z.ZodType;
  }
  return current instanceof z.ZodPipe ? unwrapped(current.def.in as z.ZodType) : current;
}

function below(schema: z.ZodType, part: PropertyKey): z.ZodType | undefined {
  const current = unwrapped(schema);
  if (current instanceof z.ZodObject) return current.shape[String(part)] as z.ZodType | undefined;
  if (current instanceof z.ZodArray) return current.element as z.ZodType;
  if (current instanceof z.ZodRecord) return current.valueType as z.ZodType;
  return undefined;
}

function names(schema: z.ZodType | undefined, value: unknown): readonly string[] {
  const current = schema && unwrapped(schema);
  if (current instanceof z.ZodObject) return Object.keys(current.shape);
  if (current instanceof z.ZodDiscriminatedUnion) {
    const { discriminator, options } = current.def;
    const chosen = options.find(option => {
      const field = option instanceof z.ZodObject ? option.shape[discriminator] : undefined;
      return field instanceof z.ZodLiteral && field.values.has(memberOf(value, discriminator) as string);
    });
    if (chosen) return names(chosen as z.ZodType, value);
  }
  if (current instanceof z.ZodUnion)
    return [...new Set(current.options.flatMap(option => names(option as z.ZodType, value)))];
  return [];
}
