import { z } from 'zod';

/** The names that `schema` accepts at `path`, for messages about unknown names. Empty where any name is accepted. */
export function acceptedAt(schema: z.ZodType, path: readonly PropertyKey[]): readonly string[] {
  return names(
    path.reduce<z.ZodType | undefined>((current, part) => current && below(current, part), schema),
  );
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

function names(schema: z.ZodType | undefined): readonly string[] {
  const current = schema && unwrapped(schema);
  if (current instanceof z.ZodObject) return Object.keys(current.shape);
  if (current instanceof z.ZodUnion)
    return [...new Set(current.options.flatMap(option => names(option as z.ZodType)))];
  return [];
}
