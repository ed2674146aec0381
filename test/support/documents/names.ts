import { existsSync, globSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Command } from 'commander';
import { createProgram } from '../../../src/cli/program.ts';
import { configJsonSchema } from '../../../src/config/json-schema.ts';
import { blocksOf, read, root } from './blocks.ts';
import { metricsTable } from './metrics-table.ts';
import { passagesWithTables, patternOf } from './passages.ts';

/** What the text of a document says that there is, by its form: `--option`, `VARIABLE_NAME`, `dotted.path`, `with_underscore`, `x-header`, `Some-Header`, `a/file.ts`. */
const forms =
  /^--[a-z]|^[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+$|^[a-z]\w*(?:\.[a-zA-Z_]\w*)+$|^[a-z0-9]+(?:_[a-z0-9]+)+$|^x-[a-z-]+$|^[A-Z][a-z]+(?:-[A-Z][A-Za-z]+)+$|\.(?:md|ts|js|cjs|yaml|json|sql|db)$/;

const sources = [
  ...globSync('{src,plugins,examples,grafana,bin,build,test/tools}/**/*.{ts,js,cjs,yaml,json}', {
    cwd: root,
    // Those of build/ have packages of their own.
    exclude: ['**/node_modules/**'],
  }),
  'package.json',
  'sluice.schema.json',
  'sluice.example.yaml',
];
const code = sources.map(read).join('\n').toLowerCase();
const words: ReadonlySet<string> = new Set(code.match(/\w+/g));
const metrics: ReadonlySet<string> = new Set((await metricsTable()).match(/(?<=^\| `)\w+/gm));
const flags: ReadonlySet<string> = new Set(flagsOf(createProgram({ print: () => {}, remark: () => {} })));
const schema = configJsonSchema() as Schema;

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema | boolean;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly default?: unknown;
}

function flagsOf(command: Command): string[] {
  return [
    '--help',
    ...command.options.flatMap(({ long }) => long ?? []),
    ...command.commands.flatMap(child => flagsOf(child)),
  ];
}

/** Names in the text of a document that are nowhere in the code: each as `document:line: name`. `foreign` are those of other programs. */
export function unknownNames(
  document: string,
  foreign: ReadonlySet<string>,
  markdown: string = read(document),
): string[] {
  const shown = blocksOf(document, markdown)
    .map(block => `${block.file ?? ''}\n${block.code}`)
    .join('\n')
    .toLowerCase();
  // The table of clients has fields of their libraries.
  return passagesWithTables(document, markdown, 'clients').flatMap(({ line, text }) =>
    [...text.matchAll(/(?<!`)`([^`]+)`(?!`)/g)]
      .map(([, written = '']) => written.replace(/(?:: |=| ).*$/, ''))
      .filter(name => forms.test(name) && !foreign.has(name))
      .filter(name => !isKnown(name, document) && !occursIn(shown, name))
      .map(name => `${document}:${line}: ${name}`),
  );
}

function isKnown(name: string, document: string): boolean {
  if (name.startsWith('--')) return flags.has(name) || occursIn(code, name);
  if (/^sluice_\w+$/.test(name))
    return metrics.has(name) || metrics.has(name.replace(/_(?:bucket|sum|count)$/, ''));
  if (/^[a-z0-9]+(?:_[a-z0-9]+)+$/.test(name)) return words.has(name);
  if (/\.(?:md|ts|js|cjs|yaml|json)$/.test(name) && isFile(name, document)) return true;
  // Members of objects that plugins and applications have.
  if (/^(?:gateway|exchange|outcome|request|identity)\./.test(name))
    return name.split('.').every(part => words.has(part.toLowerCase()));
  return optionAt(name) !== undefined || endsOfPaths.has(name) || occursIn(code, name);
}

const isFile = (name: string, document: string): boolean =>
  existsSync(join(root, name)) || existsSync(join(root, dirname(document), name));

const occursIn = (text: string, name: string): boolean =>
  new RegExp(`(?<![\\w-])${patternOf(name.toLowerCase())}(?![\\w-])`).test(text);

/** The option of a configuration at a path such as `server.port`, whose parts may be names of the user's own. */
function optionAt(path: string): Schema | undefined {
  let found: readonly Schema[] = [schema];
  for (const part of path.split('.')) {
    found = found.flatMap(expanded).flatMap(({ properties, additionalProperties: other }) => {
      const own = properties?.[part];
      if (own) return [own];
      return typeof other === 'object' ? [other] : [];
    });
    if (found.length === 0) return undefined;
  }
  return found[0];
}

/** Paths of options as documents shorten them, such as `health_check.path`: their last two parts and more. */
const endsOfPaths: ReadonlySet<string> = new Set(endsBelow(schema, []));

function endsBelow(one: Schema, above: readonly string[]): string[] {
  return expanded(one).flatMap(({ properties = {}, additionalProperties: other }) => [
    ...Object.entries(properties).flatMap(([name, property]) => {
      const path = [...above, name];
      return [...path.slice(0, -1).map((_, at) => path.slice(at).join('.')), ...endsBelow(property, path)];
    }),
    ...(typeof other === 'object' ? endsBelow(other, []) : []),
  ]);
}

function expanded(one: Schema): Schema[] {
  const parts = [...(one.anyOf ?? []), ...(one.oneOf ?? []), ...(one.items ? [one.items] : [])];
  return [one, ...parts.flatMap(expanded)];
}

/** The default of an option, such as that of `server.port`. Throws if it has none. */
export function defaultOf(path: string): number {
  const value = optionAt(path)?.default;
  if (typeof value !== 'number') throw new Error(`${path} has no number as its default`);
  return value;
}
