import { z } from 'zod';
import { valueAt } from './field-path.ts';

/** Names that `schema` accepts at `path`; empty if any is. Of a discriminated union, those of the object that `value` selects. */
export function acceptedAt(
  schema: z.ZodType,
  path: readonly PropertyKey[],
  value?: unknown,
): readonly string[] {
  let current: z.ZodType | undefined = schema;
  for (const part of path) current = current && below(current, part);
  return names(current, valueAt(value, path));
}

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
      return field instanceof z.ZodLiteral && field.values.has(valueAt(value, [discriminator]) as string);
    });
    if (chosen) return names(chosen as z.ZodType, value);
  }
  if (current instanceof z.ZodUnion)
    return [...new Set(current.options.flatMap(option => names(option as z.ZodType, value)))];
  return [];
}
