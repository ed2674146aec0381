import type { z } from 'zod';
import { chatCompletions } from './chat-completions/index.ts';
import type { Dialect, DialectDefinition, DialectSetup } from './define-dialect.ts';
import { models } from './models/index.ts';
import { responses } from './responses/index.ts';

/** All dialects. Routes, endpoint names, sections of the configuration and documents follow from this list. */
export const builtInDialects = [chatCompletions, responses, models] as const;

export type BuiltInDialect = (typeof builtInDialects)[number];
export type DialectName = BuiltInDialect['name'];

type Sections = {
  [D in BuiltInDialect as D['section'] & string]: z.ZodPrefault<D['schema']>;
};
type Options = { readonly [D in BuiltInDialect as D['section'] & string]: z.output<D['schema']> };

/** Whether `path` belongs to a dialect. */
export const isDialectPath = (path: string): boolean =>
  builtInDialects.some(({ paths }) => Object.hasOwn(paths, path));

/** Dialects that have options. */
export const configurableDialects = (builtInDialects as readonly DialectDefinition[]).filter(
  (dialect): dialect is DialectDefinition & { section: string; schema: z.ZodObject } =>
    dialect.section !== undefined,
);

/** The sections of the configuration with the dialects' options. */
export const dialectSections = Object.fromEntries(
  configurableDialects.map(({ section, schema }) => [section, schema.prefault({})]),
) as unknown as Sections;

/** The dialects with the options of a checked configuration. */
export function createDialects(options: Options, setup: DialectSetup): Dialect[] {
  const given = options as Readonly<Record<string, unknown>>;
  return (builtInDialects as readonly DialectDefinition[]).map(dialect => {
    const { name, paths, public: isPublic, errorBody, section = '' } = dialect;
    return { name, paths, public: isPublic, errorBody, ...dialect.create(given[section] ?? {}, setup) };
  });
}
