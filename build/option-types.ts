import { writeFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { z } from 'zod';
import { builtInStages } from '../plugins/index.ts';
import { builtInProviders } from '../plugins/providers.ts';
import { providerBaseSchema } from '../src/config/provider-schema.ts';
import { addressOf, configSchema } from '../src/config/schema.ts';
import {
  importOfParts,
  interfaceText,
  named,
  partNamed,
  partNames,
  partsText,
  pascal,
  shapeOf,
} from './parts.ts';
import { definitionOf, docstring, membersText } from './type-text.ts';

/**
 * The files with the types of all options, by path. They are written from the schemas, so that editors show what an option is for, whenever the
 * package is installed or built, and are not kept in the repository. The compiler holds them to what the schemas accept.
 */
export const optionTypeFiles = (): ReadonlyMap<string, string> =>
  new Map([
    ['src/common/options.ts', file('the schemas of the configuration', '', partsText())],
    ['src/config/gateway-config.ts', gatewayFile()],
    ...builtInStages.map(({ stageName, schema }): [string, string] => [
      `plugins/stages/${stageName}/options.ts`,
      stageFile(stageName, schema),
    ]),
  ]);

const file = (from: string, imports: string, text: string) =>
  `// Written from ${from} by \`npm run prepare\`.\n\n${imports}${imports && '\n'}${text}`;

function stageFile(stageName: string, schema: z.ZodType): string {
  const text = interfaceText(named(optionsOf(stageName), `Options of the stage \`${stageName}\`.`, schema));
  return file("the stage's schema", importOfParts(text, '../../../src/plugin.ts'), text);
}

const optionsOf = (stageName: string) => `${pascal(stageName)}Options`;

function gatewayFile(): string {
  const text = [...adapterTypes(), providerType(), stageTypes(), configType()].join('\n');
  const stages = builtInStages.toSorted((a, b) => (a.stageName < b.stageName ? -1 : 1));
  const imports = stages.map(
    ({ stageName }) =>
      `import type { ${optionsOf(stageName)} } from '../../plugins/stages/${stageName}/options.ts';\n`,
  );
  const ofParts = importOfParts(text, '../common/options.ts');
  return file('the schemas of the configuration', imports.join('') + ofParts, text);
}

const adapterTypes = (): string[] =>
  builtInProviders.map(definition => {
    const { name, schema } = definition;
    const adapter = z.literal(name).describe('What the server speaks.');
    const options = z.object({
      ...providerBaseSchema.shape,
      ...addressOf(definition),
      adapter,
      ...shapeOf(schema),
    });
    const type = named(`${pascal(name)}Provider`, `A provider with the adapter \`${name}\`.`, options);
    return interfaceText(type, partNamed('ProviderOptions'));
  });

function providerType(): string {
  const known = builtInProviders.map(({ name }) => `${pascal(name)}Provider`);
  return `/** A provider with an adapter of your own. */
export interface OtherProvider extends ProviderOptions {
  /** The name of an adapter that is given in code, a path such as \`./my-server.ts\`, or a package. */
  adapter: string;
  /** An option of the adapter. */
  [option: string]: unknown;
}

/** A provider: what all have in common, and the options of its adapter. */
export type ConfiguredProvider = ${[...known, 'OtherProvider'].join(' | ')};
`;
}

function stageTypes(): string {
  const names = builtInStages.map(({ stageName }) => stageName);
  const options = names.map(
    name => `  /** Options of \`${name}\`. */\n  '${name}'?: ${optionsOf(name)} | null | undefined;\n`,
  );
  return `/** One stage with its options, by its name, its path or its package. */
export interface StageWithOptions {
${options.join('')}  /** Options of a stage of your own. */
  [stage: string]: unknown;
}

/** A stage of a configuration: its name, path or package, alone or with options. */
export type ConfiguredStage = ${names.map(name => `'${name}'`).join(' | ')} | (string & {}) | StageWithOptions;
`;
}

function configType(): string {
  const { providers, stages } = configSchema.shape;
  const doc =
    'The configuration of a gateway, as an object. All but `providers` and `models` may be left out.';
  const names = new Map([
    ...partNames,
    [definitionOf(definitionOf(providers).valueType!), { name: 'ConfiguredProvider', doc: '' }],
    [
      definitionOf(definitionOf(definitionOf(stages).innerType!).element!),
      { name: 'ConfiguredStage', doc: '' },
    ],
  ]);
  return `${docstring([doc])}export interface GatewayConfig {\n${membersText(configSchema.shape, names)}}\n`;
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href)
  for (const [path, text] of optionTypeFiles()) writeFileSync(new URL(`../${path}`, import.meta.url), text);
