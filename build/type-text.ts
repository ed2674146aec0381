import type { z } from 'zod';

/** What the walk needs to know of a zod 4 schema. */
export interface Definition {
  readonly type: string;
  readonly shape?: Readonly<Record<string, z.ZodType>>;
  readonly innerType?: z.ZodType;
  readonly element?: z.ZodType;
  readonly keyType?: z.ZodType;
  readonly valueType?: z.ZodType;
  readonly options?: readonly z.ZodType[];
  readonly values?: readonly unknown[];
  readonly entries?: Readonly<Record<string, string>>;
  readonly in?: z.ZodType;
  readonly out?: z.ZodType;
  readonly defaultValue?: unknown;
}

/** A type with a name, and what is said of it. */
export interface NamedType {
  readonly name: string;
  readonly doc: string;
}

/**
 * Types that stand for schemas, whatever is said of one with `.describe()`: copies share the definition. Or `checked`: the type of what has
 * been parsed is written, in full.
 */
type TypeNames = ReadonlyMap<Definition, NamedType> | 'checked';

export const definitionOf = (schema: z.ZodType): Definition => schema._zod.def as unknown as Definition;

/** The TypeScript type of what `schema` accepts. Throws for a kind of schema that options have not had so far. */
function typeText(schema: z.ZodType, names: TypeNames, indent = ''): string {
  const definition = definitionOf(schema);
  const named = nameOf(schema, names);
  if (named) return named.name;
  const text = (inner: z.ZodType) => typeText(inner, names, indent);
  switch (definition.type) {
    case 'string':
    case 'number':
    case 'boolean':
    case 'unknown':
    case 'null':
      return definition.type;
    case 'int':
      return 'number';
    case 'enum':
      return Object.values(definition.entries!).map(quoted).join(' | ');
    case 'literal':
      return definition.values!.map(quoted).join(' | ');
    case 'optional':
    case 'default':
    case 'prefault':
    case 'nonoptional':
    case 'readonly':
      return text(definition.innerType!);
    case 'nullable':
      return `${text(definition.innerType!)} | null`;
    case 'array':
      return arrayOf(text(definition.element!));
    case 'record':
      return `Record<${text(definition.keyType!)}, ${text(definition.valueType!)}>`;
    case 'union':
      return [...new Set(definition.options!.map(text))].join(' | ');
    case 'object':
      return `{\n${membersText(definition.shape!, names, `${indent}  `)}${indent}}`;
    case 'pipe':
      // A preprocess reads text, as environment variables have it, before the schema behind it.
      if (names === 'checked') return text(definition.out!);
      return isPreprocess(definition.in) ? `${text(definition.out!)} | string` : text(definition.in!);
    case 'custom':
      return customType(schema);
    default:
      throw new Error(`no type is written for a schema of the kind ${definition.type}`);
  }
}

/** The type that the metadata of a custom schema gives, such as that of a function. */
function customType(schema: z.ZodType): string {
  const { tsType } = schema.meta() ?? {};
  if (typeof tsType !== 'string') throw new Error('a custom schema of options has no tsType in its metadata');
  return `(${tsType})`;
}

/** The members of an interface, each with its docstring. */
export function membersText(
  shape: Readonly<Record<string, z.ZodType>>,
  names: TypeNames,
  indent = '  ',
): string {
  return Object.entries(shape)
    .map(([name, schema]) => {
      const isOptional = schema._zod[names === 'checked' ? 'optout' : 'optin'] !== undefined;
      const type = typeText(schema, names, indent) + (isOptional ? ' | undefined' : '');
      const key = /^\w+$/.test(name) ? name : quoted(name);
      return `${memberDoc(name, schema, names, indent)}${indent}${key}${isOptional ? '?' : ''}: ${type};\n`;
    })
    .join('');
}

/** A docstring of these paragraphs. */
export function docstring(paragraphs: readonly string[], indent = ''): string {
  const lines = paragraphs.flatMap((paragraph, at) => [
    ...(at > 0 ? [''] : []),
    ...wrapped(paragraph.replaceAll('*/', '*\\/'), 110 - indent.length),
  ]);
  if (lines.length === 0) return '';
  if (lines.length === 1) return `${indent}/** ${lines[0]} */\n`;
  return `${indent}/**\n${lines.map(line => `${indent} * ${line}`.trimEnd()).join('\n')}\n${indent} */\n`;
}

function memberDoc(name: string, schema: z.ZodType, names: TypeNames, indent: string): string {
  const text = descriptionOf(schema) ?? nameOf(unwrapped(schema), names)?.doc;
  if (text === undefined) throw new Error(`the option ${name} has no description`);
  const isUnitSaid = !name.endsWith('_ms') || /\d (m?s|seconds)\b/.test(text);
  const value = names === 'checked' ? undefined : defaultOf(schema);
  const isShown = value !== undefined && JSON.stringify(value) !== '{}';
  return docstring(
    [
      isUnitSaid ? text : `${text} In milliseconds.`,
      ...(isShown ? [`@defaultValue \`${JSON.stringify(value)}\``] : []),
    ],
    indent,
  );
}

const nameOf = (schema: z.ZodType, names: TypeNames): NamedType | undefined =>
  names === 'checked' ? undefined : names.get(definitionOf(schema));

/** What an option is for, whatever it is wrapped in. */
function descriptionOf(schema: z.ZodType): string | undefined {
  const inner = innerOf(schema);
  return schema.description ?? (inner && descriptionOf(inner));
}

function unwrapped(schema: z.ZodType): z.ZodType {
  const inner = innerOf(schema);
  return inner ? unwrapped(inner) : schema;
}

/** The schema in a wrapper: of an optional one, of one with a default, behind a preprocess. */
const innerOf = (schema: z.ZodType): z.ZodType | undefined => {
  const { innerType, in: input, out } = definitionOf(schema);
  return innerType ?? (isPreprocess(input) ? out : input);
};

const isPreprocess = (input: z.ZodType | undefined): boolean =>
  input !== undefined && definitionOf(input).type === 'transform';

function defaultOf(schema: z.ZodType): unknown {
  const { type, defaultValue } = definitionOf(schema);
  const inner = innerOf(schema);
  return type === 'default' ? defaultValue : inner && defaultOf(inner);
}

const quoted = (value: unknown) =>
  typeof value === 'string' ? `'${value.replaceAll("'", "\\'")}'` : String(value);

const arrayOf = (element: string) => (/[|{&]/.test(element) ? `(${element})[]` : `${element}[]`);

function wrapped(text: string, width: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(/\s+/)) {
    const last = lines.at(-1);
    if (last !== undefined && `${last} ${word}`.length <= width) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}
