import { z } from 'zod';
import { builtInStages } from '../../plugins/index.ts';
import { builtInAdapters } from './load-adapters.ts';
import { providerBaseSchema } from './provider-schema.ts';
import { configSchema } from './schema.ts';

interface Schema {
  readonly properties: Record<string, object>;
  readonly additionalProperties?: unknown;
}

const options = { io: 'input', unrepresentable: 'any' } as const;

/** The configuration as JSON Schema, for editors: `sluice schema`. Built-in stages are offered by name with their options. */
export const configJsonSchema = (): Record<string, unknown> =>
  JSON.parse(JSON.stringify(markedJsonSchema(), (name, value) => (isMark(name, value) ? undefined : value)));

/** What the metadata of an option says of its text, which is not for editors. */
const isMark = (name: string, value: unknown): boolean =>
  (name === 'shown' || name === 'address') && value === true;

/** The same with the marks `shown` and `address` of the options' metadata. */
export function markedJsonSchema(): Record<string, unknown> {
  const { additionalProperties: _, ...schema } = z.toJSONSchema(configSchema, options) as Schema;
  const names = builtInStages.map(({ stageName }) => stageName);
  const properties = Object.fromEntries(
    builtInStages.map(({ stageName, schema: own }) => {
      const { $schema: _, ...described } = z.toJSONSchema(own, options);
      return [stageName, described];
    }),
  );
  schema.properties.stages = {
    ...schema.properties.stages,
    items: {
      anyOf: [
        { enum: names },
        { type: 'string', description: 'A stage of your own: a path, or a package.', shown: true },
        { type: 'object', properties, minProperties: 1, maxProperties: 1 },
      ],
    },
  };
  const { providers } = schema.properties as { providers: { additionalProperties: { oneOf: object[] } } };
  providers.additionalProperties.oneOf.push(ownAdapter());
  return { title: 'sluice configuration', ...schema, ...ownSections(Object.keys(schema.properties)) };
}

/** A provider with an adapter of the user's own, whose options no schema knows. */
function ownAdapter(): object {
  const provider = providerBaseSchema.extend({ adapter: z.string() }).loose();
  const { $schema: _, properties, ...rest } = z.toJSONSchema(provider, options);
  const builtIn = { enum: [...builtInAdapters.keys()] };
  const description = 'An adapter of your own: a path, or a package.';
  return {
    ...rest,
    properties: { ...properties, adapter: { type: 'string', not: builtIn, description, shown: true } },
  };
}

/** Names at the top level: others than these only beside dialects of the user's own, which have sections. */
const ownSections = (names: readonly string[]) => ({
  if: { not: { required: ['dialects'] } },
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
  then: { propertyNames: { enum: names } },
});
