import { z } from 'zod';
import {
  type ContentPart,
  isObject,
  type Json,
  type Message,
  requestFields,
  shortText,
  type TextPart,
} from '../../../src/plugin.ts';
import { objectIn } from './defined-tools.ts';
import { summaryMessage } from './plain-summary.ts';
import { type AnyTool, toolList } from './tool-list.ts';
import type { CalledTool } from './tool-names.ts';

const { acceptedImageUrl, anyObject, imagePart, nonEmptyText, parsedBy } = requestFields;

/** Items that only OpenAI's servers make, from an earlier reply or another server: in words, or as the call of a function and its output. */

/** What a reader is told of an item. */
export interface Note {
  /** The item in words, and as it was given. */
  readonly note: TextPart;
  readonly by: 'assistant' | 'user';
}

/** What brings tools along, which are declared with the others. */
export interface Bringing {
  readonly tools: readonly AnyTool[];
}

/** A call, its output, or both. */
interface Called {
  readonly call?: CalledTool;
  readonly output?: Message;
  /** The output for a model whose modality takes no images. */
  readonly unseen?: Message;
}

/** Format of these items. */
const format = 'openai-responses';
/** Elements of a list that a note has. */
const max_elements = 20;

const listIn = (value: unknown): Json[] =>
  Array.isArray(value) ? value.slice(0, max_elements).filter(isObject) : [];
const joined = (values: unknown): string =>
  shortText(Array.isArray(values) ? values.slice(0, max_elements).map(shortText).join('; ') : values);
const named = (values: unknown): string => joined(listIn(values).map(({ name, type }) => name ?? type));

const compacted = 'earlier conversation, compacted';

/** Items in words; what is no text in them is left out. */
const notes: Readonly<Record<string, (item: Json) => string>> = {
  web_search_call: ({ action }) => {
    const { type, query, queries, url, pattern } = isObject(action) ? action : {};
    if (type === 'open_page') return `web page: ${shortText(url)}`;
    if (type === 'find_in_page') return `search in ${shortText(url)}: ${shortText(pattern)}`;
    return `web search: ${joined(queries ?? query)}`;
  },
  file_search_call: ({ queries, results }) => {
    const found = joined(
      listIn(results).map(({ filename, text }) => `${shortText(filename)}: ${shortText(text)}`),
    );
    return `file search: ${joined(queries)}${found && `, found: ${found}`}`;
  },
  image_generation_call: ({ revised_prompt }) => `image generation: ${shortText(revised_prompt)}`,
  mcp_list_tools: ({ server_label, tools }) => `tools of ${shortText(server_label)}: ${named(tools)}`,
  mcp_approval_request: ({ server_label, name, arguments: text }) =>
    `approval asked for ${shortText(name)} of ${shortText(server_label)}: ${shortText(text)}`,
  mcp_approval_response: ({ approve, reason }) =>
    `${approve === true ? 'approved' : 'not approved'}${reason == null ? '' : `: ${shortText(reason)}`}`,
  tool_search_call: ({ arguments: asked }) => `tool search: ${shortText(asked)}`,
  context_compaction: () => compacted,
  configuration_update: () => 'configuration changed',
};

/** The notes that are the client's words. */
const ofUser: ReadonlySet<string> = new Set(['mcp_approval_response', 'tool_search_output']);

const noteOf = (type: string, words: (item: Json) => string) =>
  anyObject.transform((item): Note => {
    const said = words(item).replace(/[:\s]+$/, '');
    return {
      note: { type: 'text', text: `[${said}]`, native: { format, item } },
      by: ofUser.has(type) ? 'user' : 'assistant',
    };
  });

const callOf = (id: string, name: string, given: unknown, namespace?: string): CalledTool => ({
  id,
  tool: { kind: 'function', name, namespace },
  arguments: typeof given === 'string' ? argumentsIn(given) : JSON.stringify(given ?? {}),
});
/** Arguments as a JSON object, which some upstreams demand. */
const argumentsIn = (text: string): string => (objectIn(text) ? text : JSON.stringify({ input: text }));
const outputOf = (tool_call_id: string, content: string | ContentPart[]): Message => ({
  role: 'tool',
  tool_call_id,
  content,
});

const textIn = (value: unknown): string => (typeof value === 'string' ? value : shortText(value));

/** What a code interpreter has written. */
const logsIn = (outputs: unknown): string =>
  listIn(outputs)
    .map(({ type, logs }) => (type === 'logs' ? shortText(logs) : `[${shortText(type)}]`))
    .join('\n');

const unseen = '[screenshot]';

/** The image of a screen, if its address is one that upstreams may be given. */
function screenIn(output: unknown): ContentPart[] | undefined {
  const { image_url } = isObject(output) ? output : {};
  const url = typeof image_url === 'string' ? acceptedImageUrl(image_url) : undefined;
  return url === undefined ? undefined : [imagePart(url)];
}

const ofId = z.looseObject({ id: nonEmptyText });
const ofCall = z.looseObject({ call_id: nonEmptyText });

/** Calls and outputs. */
const calls = {
  computer_call: ofCall.transform(
    ({ call_id, action, actions }): Called => ({ call: callOf(call_id, 'computer', action ?? { actions }) }),
  ),
  computer_call_output: ofCall.transform(
    ({ call_id, output }): Called => ({
      output: outputOf(call_id, screenIn(output) ?? unseen),
      unseen: outputOf(call_id, unseen),
    }),
  ),
  code_interpreter_call: ofId.transform(
    ({ id, code, outputs }): Called => ({
      call: callOf(id, 'code_interpreter', { code }),
      output: outputOf(id, logsIn(outputs)),
    }),
  ),
  mcp_call: ofId.transform(
    ({ id, name, server_label, arguments: given, output, error }): Called => ({
      call: callOf(id, shortText(name) || 'mcp', given, shortText(server_label) || 'mcp'),
      output: outputOf(id, textIn(output ?? error)),
    }),
  ),
  program: ofCall.transform(({ call_id, code }): Called => ({ call: callOf(call_id, 'program', { code }) })),
  program_output: ofCall.transform(
    ({ call_id, result }): Called => ({ output: outputOf(call_id, textIn(result)) }),
  ),
};

const bringing = z
  .looseObject({ tools: toolList })
  .transform(({ tools }): Bringing => ({ tools: tools ?? [] }));
const toolsFound = ({ tools }: Json): string => `tools found: ${named(tools)}`;

/** The schemas of these items, by type. */
export const historyItems: Readonly<Record<string, z.ZodType<Note | Called | Message | Bringing>>> = {
  ...Object.fromEntries(Object.entries(notes).map(([type, words]) => [type, noteOf(type, words)])),
  ...calls,
  compaction: anyObject.transform(
    (item, issues): Note | Message =>
      summaryMessage(item.encrypted_content) ??
      parsedBy(
        noteOf('compaction', () => compacted),
        item,
        issues,
      ) ??
      z.NEVER,
  ),
  // At the end it asks for a summary: compaction.ts. Before that one has been made.
  compaction_trigger: anyObject.transform((): Called => ({})),
  additional_tools: bringing,
  tool_search_output: z.unknown().transform((given, issues): Note & Bringing => {
    const brought = parsedBy(bringing, given, issues);
    const note = parsedBy(noteOf('tool_search_output', toolsFound), given, issues);
    return brought && note ? { ...note, ...brought } : z.NEVER;
  }),
};
