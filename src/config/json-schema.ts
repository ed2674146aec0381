import { z } from 'zod';
import { builtInStages } from '../../plugins/index.ts';
import { configSchema } from './schema.ts';

/** The configuration as JSON Schema, for editors: `sluice schema`. Built-in stages are offered by name with their options. */
export function configJsonSchema(): Record<string, unknown> {
  const options = { io: 'input', unrepresentable: 'any' } as const;
  const schema = z.toJSONSchema(configSchema, options) as { properties: Record<string, object> };
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
        { type: 'string', description: 'A stage of your own: a path, or a package.' },
        { type: 'object', properties, minProperties: 1, maxProperties: 1 },
      ],
    },
  };
  return { title: 'sluice configuration', ...schema };
}
