import fc from 'fast-check';

type Schema = Readonly<Record<string, unknown>>;

/** Values that JSON Schema of zod describes, the edges of their ranges among them; here and there something else entirely. */
export const valuesOf = (schema: Schema, root: Schema = schema): fc.Arbitrary<unknown> =>
  fc.oneof(
    { weight: 12, arbitrary: described(schema, root) },
    { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 2 }) },
  );

function described(schema: Schema, root: Schema): fc.Arbitrary<unknown> {
  const { $ref, anyOf, oneOf, allOf, enum: names, type } = schema as Record<string, never>;
  if ($ref !== undefined) return described(atRef(root, $ref), root);
  const choices = (anyOf ?? oneOf ?? allOf) as readonly Schema[] | undefined;
  if (choices) return fc.oneof(...choices.map(choice => described(choice, root)));
  if ('const' in schema) return fc.constant(schema.const);
  if (names) return fc.constantFrom(...(names as readonly unknown[]));
  if (Array.isArray(type))
    return fc.oneof(...(type as string[]).map(one => described({ ...schema, type: one }, root)));
  return (makers[String(type)] ?? (() => fc.jsonValue({ maxDepth: 2 })))(schema as never, root);
}

const atRef = (root: Schema, ref: string): Schema =>
  ref
    .slice(2)
    .split('/')
    .reduce<unknown>((at, name) => (at as Schema)[name], root) as Schema;

interface Bounds {
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
}

interface ObjectSchema {
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: Schema | boolean;
}

const integers = ({ minimum, maximum, exclusiveMinimum }: Bounds) =>
  fc.integer({
    min: Math.max(minimum ?? (exclusiveMinimum === undefined ? -5 : exclusiveMinimum + 1), -(2 ** 31)),
    max: Math.min(maximum ?? 2 ** 31, 2 ** 31),
  });

const makers: Record<string, (schema: never, root: Schema) => fc.Arbitrary<unknown>> = {
  null: () => fc.constant(null),
  boolean: () => fc.boolean(),
  integer: integers,
  number: (bounds: Bounds) => fc.oneof(integers(bounds), fc.double({ min: 0, max: 1000, noNaN: true })),
  string: ({ format, maxLength = 30 }: { format?: string; maxLength?: number }) =>
    format === 'date-time'
      ? fc
          .date({ min: new Date(0), max: new Date('2200-01-01'), noInvalidDate: true })
          .map(date => date.toISOString())
      : fc.oneof(
          fc.string({ maxLength, unit: 'binary' }),
          fc.stringMatching(/^[a-z][a-z0-9.-]{0,20}$/),
          fc.constantFrom('', 'a'.repeat(maxLength + 1), '\u0000', '../..', "'--"),
        ),
  array: ({ items = {} }: { items?: Schema }, root) => fc.array(valuesOf(items, root), { maxLength: 3 }),
  object: ({ properties = {}, required = [], additionalProperties }: ObjectSchema, root) => {
    const given = fc.record(
      Object.fromEntries(Object.entries(properties).map(([name, one]) => [name, valuesOf(one, root)])),
      { requiredKeys: [...required] },
    );
    if (typeof additionalProperties !== 'object') return given;
    const more = fc.dictionary(fc.string({ maxLength: 8 }), valuesOf(additionalProperties, root), {
      maxKeys: 2,
    });
    return fc.tuple(given, more).map(([one, other]) => ({ ...other, ...one }));
  },
};
