import { z } from 'zod';
import {
  arrayOf,
  type ContentPart,
  type ImagePart,
  isObject,
  type Json,
  type Message,
  requestFields,
  type TextPart,
  type ToolCall,
} from '../../../src/plugin.ts';
import type { RedactedBlock, ThinkingBlock } from './reasoning-details.ts';
import { serverBlockWords } from './server-blocks.ts';

const {
  byType,
  cacheControl,
  eachParsedBy,
  fault,
  file,
  parsedBy,
  acceptedImageUrl,
  imagePart,
  anyObject,
  flag,
  nonEmptyText,
  optionalText,
  present,
  text,
} = requestFields;

/** Content blocks of requests. */

/** Format of blocks as Anthropic has them. */
const format = 'anthropic';

/** A parsed block. */
export type Block =
  | { readonly part: ContentPart }
  | { readonly call: ToolCall }
  | { readonly result: Message }
  | { readonly thinking: ThinkingBlock | RedactedBlock };

const textBlock = z
  .object({ text, cache_control: cacheControl, citations: z.array(z.unknown()).nullish().catch(undefined) })
  .transform(({ text, cache_control, citations }): TextPart => {
    const part: TextPart = { type: 'text', text, ...present({ cache_control }) };
    // What a reply has cited goes back to the servers that can read it.
    return citations?.length ? { ...part, native: { format, item: { ...part, citations } } } : part;
  });

const media_types = ['image/jpeg', 'image/png', 'image/gif', 'image/webp'] as const;
const base64Source = z
  .object({ media_type: z.enum(media_types, `must be one of: ${media_types.join(', ')}`), data: text })
  .transform(
    ({ media_type, data }, issues): string =>
      acceptedImageUrl(`data:${media_type};base64,${data}`) ??
      fault(issues, 'must be an image in base64, of at most 20 MiB', 'data'),
  );
const urlSource = z.object({ url: text }).transform(({ url: given }, issues): string => {
  const url = acceptedImageUrl(given);
  return url?.startsWith('https:') ? url : fault(issues, 'must be an https: address of a public host', 'url');
});

/** The address of an image, or the image itself. */
const source = byType(
  { base64: base64Source, url: urlSource },
  'must be "base64" or "url"; files are not stored here',
);

const imageBlock = z
  .object({ source, cache_control: cacheControl })
  .transform(
    ({ source, cache_control }): ImagePart => ({ ...imagePart(source), ...present({ cache_control }) }),
  );

const fileOf = (file_data: string, filename: string | null | undefined, issues: z.RefinementCtx) =>
  parsedBy(file, { file_data, filename }, issues, ['source'], ({ message }) => message) ?? z.NEVER;

const documentSource = {
  base64: z.object({ media_type: nonEmptyText, data: text }),
  url: z.object({ url: text }),
  text: z.object({ data: text }),
  content: z.object({ content: z.unknown() }),
};

/** A document: a file, or what it says if it is a text. */
const documentBlock = z
  .object({
    source: byType<Json>(
      documentSource,
      'must be "base64", "url", "text" or "content"; files are not stored here',
    ),
    title: optionalText,
    cache_control: cacheControl,
  })
  .transform(({ source: from, title, cache_control }, issues): TextPart => {
    const { media_type, data, url, content } = from;
    const mark = present({ cache_control });
    if (media_type !== undefined)
      return { ...fileOf(`data:${media_type};base64,${data}`, title, issues), ...mark };
    if (url !== undefined) return { ...fileOf(String(url), title, issues), ...mark };
    return { type: 'text', text: [title, data ?? textIn(content)].filter(said => said).join('\n'), ...mark };
  });

/** A passage that a client has found, as a text that names its source. */
const searchResult = z
  .object({ source: text, title: text, content: z.unknown(), cache_control: cacheControl })
  .transform(
    ({ source: from, title, content, cache_control }): TextPart => ({
      type: 'text',
      text: `${title} (${from})\n${textIn(content)}`,
      ...present({ cache_control }),
    }),
  );

/** The text of blocks. */
const textIn = (content: unknown): string =>
  typeof content === 'string'
    ? content
    : (Array.isArray(content) ? content : [])
        .map(block => (isObject(block) && typeof block.text === 'string' ? block.text : ''))
        .join('\n');

/** A tool that a search for tools has found. */
const toolReference = z.object({ tool_name: nonEmptyText, cache_control: cacheControl }).transform(
  ({ tool_name, cache_control }): TextPart => ({
    type: 'text',
    text: `[tool reference: ${tool_name}]`,
    tool_reference: tool_name,
    ...present({ cache_control }),
  }),
);

const alternatives = new Intl.ListFormat('en-GB', { type: 'disjunction' });
const blockOf = <T>(kinds: Readonly<Record<string, z.ZodType<T>>>) =>
  byType(kinds, `must be ${alternatives.format(Object.keys(kinds).map(type => `"${type}"`))}`);

/** The system prompt. */
export const systemBlocks = arrayOf(
  blockOf({ text: textBlock }),
  'must be a string or an array of text blocks',
);

const toolUse = z
  .object({ id: nonEmptyText, name: nonEmptyText, input: anyObject, cache_control: cacheControl })
  .transform(
    ({ id, name, input, cache_control }): ToolCall => ({
      id,
      type: 'function',
      function: { name, arguments: JSON.stringify(input) },
      ...present({ cache_control }),
    }),
  );

const notResult = 'must be a string or an array of text, image and tool_reference blocks';
const media = { document: documentBlock, search_result: searchResult };
const inResult = { text: textBlock, image: imageBlock, tool_reference: toolReference, ...media };
const resultParts = arrayOf(blockOf<ContentPart>(inResult), notResult);

const toolResult = z
  .object({
    tool_use_id: nonEmptyText,
    content: z.unknown().optional(),
    is_error: flag,
    cache_control: cacheControl,
  })
  .transform(({ tool_use_id, content, is_error, cache_control }, issues): Message => {
    const failure = is_error === true && { is_error };
    const result: Message = { role: 'tool', tool_call_id: tool_use_id, content: '', ...failure };
    // A tool may return nothing.
    if (content == null) return result;
    if (typeof content === 'string')
      return {
        ...result,
        content: contentOf([{ type: 'text', text: content, ...present({ cache_control }) }]),
      };
    const parts = parsedBy(resultParts, content, issues, ['content']);
    if (!parts) return z.NEVER;
    const last = parts.at(-1);
    // The mark of a result is that of its last part.
    if (last && cache_control) parts[parts.length - 1] = { ...last, cache_control };
    return { ...result, content: contentOf(parts) };
  });

/** Parts as content: one plain text becomes a string, which all servers and templates accept. */
export function contentOf(parts: readonly ContentPart[]): string | ContentPart[] {
  const [first] = parts;
  if (first === undefined) return '';
  const isPlain = first.type === 'text' && Object.keys(first).length === 2;
  return parts.length === 1 && isPlain ? first.text : [...parts];
}

const thinking = z
  .object({ thinking: text, signature: optionalText })
  .transform(
    ({ thinking, signature }): ThinkingBlock => ({ type: 'thinking', thinking, signature: signature ?? '' }),
  );
const redactedThinking = z
  .object({ data: nonEmptyText })
  .transform(({ data }): RedactedBlock => ({ type: 'redacted_thinking', data }));

/** A block of Anthropic's own, in words and as it was given. */
const serverBlock = (words: (block: Json) => string) =>
  z.looseObject({ cache_control: cacheControl }).transform(
    ({ cache_control, ...block }): TextPart => ({
      type: 'text',
      text: words(block),
      native: { format, item: present({ ...block, cache_control }) },
      ...present({ cache_control }),
    }),
  );

const partOf = (schema: z.ZodType<ContentPart>) => schema.transform((part): Block => ({ part }));
const thinkingOf = (schema: z.ZodType<ThinkingBlock | RedactedBlock>) =>
  schema.transform((block): Block => ({ thinking: block }));

const serverBlocks = Object.fromEntries(
  Object.entries(serverBlockWords).map(([type, words]) => [type, partOf(serverBlock(words))]),
);

const byRole = {
  user: blockOf({
    text: partOf(textBlock),
    image: partOf(imageBlock),
    document: partOf(documentBlock),
    search_result: partOf(searchResult),
    tool_result: toolResult.transform((result): Block => ({ result })),
    ...serverBlocks,
  }),
  assistant: blockOf({
    text: partOf(textBlock),
    tool_use: toolUse.transform((call): Block => ({ call })),
    thinking: thinkingOf(thinking),
    redacted_thinking: thinkingOf(redactedThinking),
    ...serverBlocks,
  }),
};

/** The blocks of a message; `undefined` after a fault. */
export const blocksIn = (role: keyof typeof byRole, given: readonly unknown[], issues: z.RefinementCtx) =>
  eachParsedBy(byRole[role], given, issues, ['content']);

const blocks = {
  ...inResult,
  tool_use: toolUse,
  tool_result: toolResult,
  thinking,
  redacted_thinking: redactedThinking,
};

/** Names of the fields of each block; all others are named as ignored. */
export const blockFields: Readonly<Record<string, ReadonlySet<string>>> = Object.fromEntries(
  Object.entries(blocks).map(([type, { in: object }]) => [
    type,
    new Set(['type', ...Object.keys(object.shape)]),
  ]),
);
