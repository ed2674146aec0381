import { z } from 'zod';
import {
  type BuiltInDialect,
  builtInDialects,
  configurableDialects,
} from '../../config/built-in-dialects.ts';
import { chatCompletions } from '../../gateway/dialects/chat-completions/index.ts';

/** The format spoken by handlers behind a chain. */
export const handlerDialect = chatCompletions;

const from_chat = z.boolean().default(false);

type SectionOf<D extends BuiltInDialect> = D extends { readonly name: typeof handlerDialect.name }
  ? D['schema']
  : D['schema'] extends z.ZodObject<infer Shape>
    ? z.ZodObject<
        z.util.Extend<Omit<Shape, 'enabled' | 'store' | 'websocket'>, { from_chat: typeof from_chat }>,
        z.core.$strict
      >
    : never;
/** Without those that tell of usage, which a chain has not. */
type OwnDialect = Exclude<BuiltInDialect, { readonly name: 'usage' }>;
type Sections = { [D in OwnDialect as D['section'] & string]: z.ZodPrefault<SectionOf<D>> };

const ownDialects = configurableDialects.filter(({ uncounted }) => !uncounted);

/** Options of the dialects in a chain. Dialects other than the handler's are answered by asking the handler for a chat completion. */
export const chainDialectSections = Object.fromEntries(
  ownDialects.map(({ name, section, schema, paths }) => {
    const [path] = Object.keys(paths);
    if (name === handlerDialect.name) {
      const about = `How replies at \`${path}\` that stages look at are written. Options as in a configuration.`;
      return [section, schema.prefault({}).describe(about)];
    }
    const about = `What becomes of \`${path}\`: a path like any other (see \`otherPaths\`), left to a handler that speaks the format only where no stage must read it; or with \`from_chat: true\` answered by the chain, which asks the handler for \`/v1/chat/completions\` instead. Other options as in a configuration.`;
    const described = from_chat.describe(
      `Answer \`${path}\` here, asking the handler for a chat completion.`,
    );
    // A chain offers what it answers itself, and has neither a store nor connections of its own.
    const { enabled, store, websocket, ...own } = schema.shape;
    return [
      section,
      z
        .strictObject({ ...own, from_chat: described })
        .prefault({})
        .describe(about),
    ];
  }),
) as unknown as Sections;

/** Whether requests in the dialect `name` are answered by asking the handler for a chat completion. */
export function isFromChat(options: object, name: string): boolean {
  const section = builtInDialects.find(dialect => dialect.name === name)?.section ?? '';
  const own = (options as Readonly<Record<string, { readonly from_chat?: boolean } | undefined>>)[section];
  return own?.from_chat === true;
}
