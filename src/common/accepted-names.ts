import type { z } from 'zod';
import { valueAt } from './field-path.ts';

/** Names that `schema` accepts at `path`; empty if any is. Of a discriminated union, those of the object that `value` selects. */
export function acceptedAt(
  schema: z.ZodType,
  path: readonly PropertyKey[],
  value?: unknown,
): readonly string[] {
  let current: z.core.$ZodType | undefined = schema;
  for (const part of path) current = current && below(current, part);
  return names(current, valueAt(value, path));
}

/** What `schema` consists of, without what wraps it. By its type and not its class: this must not load zod for commands that check nothing. */
function definitionOf(schema: z.core.$ZodType): z.core.$ZodTypes['_zod']['def'] {
  const { def } = (schema as z.core.$ZodTypes)._zod;
  if (def.type === 'pipe') return definitionOf(def.in);
  const isWrapper =
    def.type === 'optional' || def.type === 'default' || def.type === 'prefault' || def.type === 'nullable';
  return isWrapper ? definitionOf(def.innerType) : def;
}

function below(schema: z.core.$ZodType, part: PropertyKey): z.core.$ZodType | undefined {
  const def = definitionOf(schema);
  if (def.type === 'object') return def.shape[String(part)];
  if (def.type === 'array') return def.element;
  if (def.type === 'record') return def.valueType;
  return undefined;
}

function names(schema: z.core.$ZodType | undefined, value: unknown): readonly string[] {
  const def = schema && definitionOf(schema);
  if (def?.type === 'object') return Object.keys(def.shape);
  if (def?.type !== 'union') return [];
  if ('discriminator' in def) {
    const discriminator = String(def.discriminator);
    const chosen = def.options.find(option => {
      const { type, shape } = definitionOf(option) as z.core.$ZodObjectDef;
      const field = type === 'object' ? shape[discriminator] : undefined;
      const literal = field && definitionOf(field);
      return (
        literal?.type === 'literal' && literal.values.includes(valueAt(value, [discriminator]) as string)
      );
    });
    if (chosen) return names(chosen, value);
  }
  return [...new Set(def.options.flatMap(option => names(option, value)))];
}
