import type { z } from 'zod';
import { messages, messagesCount } from '../../plugins/dialects/messages/index.ts';
import { models } from '../../plugins/dialects/models/index.ts';
import { embeddings, rerank, textCompletions } from '../../plugins/dialects/operations/index.ts';
import {
  conversations,
  responses,
  responsesCompact,
  responsesInputTokens,
  storedResponseRoutes,
} from '../../plugins/dialects/responses/index.ts';
import { usage } from '../../plugins/dialects/usage/index.ts';
import type { MakePlugin } from '../common/config-error.ts';
import { asObject } from '../common/json-object.ts';
import { chatCompletions } from '../gateway/dialects/chat-completions/index.ts';
import {
  createDialect,
  type Dialect,
  type DialectDefinition,
  type DialectSetup,
} from '../gateway/dialects/define-dialect.ts';

/** All dialects. Routes, endpoint names, sections of the configuration and documents follow from this list. */
export const builtInDialects = [
  chatCompletions,
  responses,
  storedResponseRoutes,
  responsesInputTokens,
  responsesCompact,
  conversations,
  messages,
  messagesCount,
  textCompletions,
  embeddings,
  rerank,
  models,
  usage,
] as const;

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

/** Dialects with options, one for each section. */
function configurable(dialects: readonly DialectDefinition[]) {
  const sections = dialects.map(({ section }) => section);
  return dialects.filter(
    (dialect, at): dialect is DialectDefinition & { section: string; schema: z.ZodObject } =>
      dialect.section !== undefined && sections.indexOf(dialect.section) === at,
  );
}

/**
/**
 * Whether a dialect is offered with the options in a configuration: one that has an option `enabled` only if that is set, one that `needs`
 * another option only with that, one of another operation than chat only if a model serves it. In a chain the place of `enabled` is taken by
 * `from_chat`.
 */
export function isOffered(
  { section = '', needs, schema, operation }: DialectDefinition,
  options: object,
): boolean {
  if (operation !== undefined && !isServed(operation, options)) return false;
  if (needs !== undefined) return asObject(asObject(options)[section])[needs] !== undefined;
  const hasSwitch = Object.hasOwn((schema as z.ZodObject).shape ?? {}, 'enabled');
  if (!hasSwitch) return true;
  const own = asObject(asObject(options)[section]);
  return own.enabled === true || own.from_chat === true;
}

/** Whether a model of a configuration, checked or not, serves `operation`. */
function isServed(operation: string, options: object): boolean {
  const { models } = options as { readonly models?: unknown };
  if (!Array.isArray(models)) return false;
  return models.some(model => [asObject(model).operations].flat().includes(operation));
}

/** The dialects that a checked configuration offers, with their options. */
export function createDialects(
  dialects: readonly DialectDefinition[],
  options: object,
  setup: DialectSetup,
  made: MakePlugin = (_, make) => make(),
): Dialect[] {
  const given = options as Readonly<Record<string, unknown>>;
  return dialects.flatMap((dialect, at) =>
    isOffered(dialect, given)
      ? made(at, () => createDialect(dialect, given[dialect.section ?? ''] ?? {}, setup))
      : [],
  );
}
