import type { z } from 'zod';
import type { MakePlugin } from '../diagnostics/config-error.ts';
import { chatCompletions } from './chat-completions/index.ts';
import { createDialect, type Dialect, type DialectDefinition, type DialectSetup } from './define-dialect.ts';
import { models } from './models/index.ts';
import { responses } from './responses/index.ts';

/** All dialects. Routes, endpoint names, sections of the configuration and documents follow from this list. */
export const builtInDialects = [chatCompletions, responses, models] as const;

export type BuiltInDialect = (typeof builtInDialects)[number];

type Sections = {
  [D in BuiltInDialect as D['section'] & string]: z.ZodPrefault<D['schema']>;
};

/** Dialects that have options. */
export const configurableDialects = configurable(builtInDialects);

/** The sections of the configuration with the built-in dialects' options. */
export const dialectSections = sectionsOf(builtInDialects) as unknown as Sections;

/** The sections of the configuration with the options of `dialects`. */
export function sectionsOf(dialects: readonly DialectDefinition[]): Record<string, z.ZodType> {
  return Object.fromEntries(
    configurable(dialects).map(({ section, schema }) => [section, schema.prefault({})]),
  );
}

function configurable(dialects: readonly DialectDefinition[]) {
  return dialects.filter(
    (dialect): dialect is DialectDefinition & { section: string; schema: z.ZodObject } =>
      dialect.section !== undefined,
  );
}

/** The dialects with the options of a checked configuration. */
export function createDialects(
  dialects: readonly DialectDefinition[],
  options: object,
  setup: DialectSetup,
  made: MakePlugin = (_, make) => make(),
): Dialect[] {
  const given = options as Readonly<Record<string, unknown>>;
  return dialects.map((dialect, at) =>
    made(at, () => createDialect(dialect, given[dialect.section ?? ''] ?? {}, setup)),
  );
}
