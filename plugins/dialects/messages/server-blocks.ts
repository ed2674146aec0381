import { isObject, type Json, shortText } from '../../../src/plugin.ts';

/** Blocks that only Anthropic's servers make, in words for models of other servers. */

/** Elements of a list that are told of. */
const max_elements = 20;

const listed = (values: unknown, wordsOf: (value: Json) => unknown): string =>
  Array.isArray(values)
    ? shortText(
        values
          .slice(0, max_elements)
          .map(value => (isObject(value) ? shortText(wordsOf(value)) : ''))
          .join('; '),
      )
    : '';

/** What a tool has returned: a list, an object with its error or its output, or a text. */
function found(content: unknown): string {
  if (typeof content === 'string') return shortText(content);
  if (Array.isArray(content)) return listed(content, wordsOfPart);
  if (!isObject(content)) return '';
  const { error_code, stdout, stderr, tool_references: tools, url, text } = content;
  if (typeof error_code === 'string') return `error ${shortText(error_code)}`;
  if (Array.isArray(tools)) return listed(tools, ({ tool_name }) => tool_name);
  if (stdout !== undefined || stderr !== undefined)
    return `${shortText(stdout)}\n${shortText(stderr)}`.trim();
  return shortText(url ?? text ?? content.type);
}

/** A page that was found, a part of a text, or anything else by its type. */
const wordsOfPart = ({ title, url, text, type }: Json): unknown =>
  url === undefined ? (text ?? type) : `${shortText(title)} ${shortText(url)}`;

const queryIn = (input: unknown): unknown =>
  isObject(input) ? (input.query ?? input.url ?? input.code ?? input.command ?? input) : input;

const resultOf =
  (what: string) =>
  ({ content }: Json) =>
    `[${what}: ${found(content)}]`;
const toolName = (tool: unknown): unknown =>
  isObject(tool) ? (tool.tool_name ?? tool.name ?? tool.type) : '';

/** What a block says, by its type. */
export const serverBlockWords: Readonly<Record<string, (block: Json) => string>> = {
  server_tool_use: ({ name, input }) =>
    `[${shortText(name).replaceAll('_', ' ')}: ${shortText(queryIn(input))}]`,
  web_search_tool_result: resultOf('search results'),
  web_fetch_tool_result: resultOf('fetched page'),
  code_execution_tool_result: resultOf('code output'),
  bash_code_execution_tool_result: resultOf('command output'),
  text_editor_code_execution_tool_result: resultOf('file output'),
  tool_search_tool_result: resultOf('tools found'),
  advisor_tool_result: resultOf('advice'),
  mcp_tool_use: ({ server_name, name, input }) =>
    `[call of ${shortText(name)} of ${shortText(server_name)}: ${shortText(input)}]`,
  mcp_tool_result: resultOf('result of the call'),
  mcp_tool_listing: ({ mcp_server_name, tools }) =>
    `[tools of ${shortText(mcp_server_name)}: ${listed(tools, ({ name }) => name)}]`,
  container_upload: ({ file_id }) => `[uploaded file: ${shortText(file_id)}]`,
  // The summary stands for the conversation before it, so it is kept whole.
  compaction: ({ content }) =>
    typeof content === 'string' && content !== '' ? content : '[earlier conversation, compacted]',
  tool_addition: ({ tool }) => `[tool added: ${shortText(toolName(tool))}]`,
  tool_removal: ({ tool }) => `[tool removed: ${shortText(toolName(tool))}]`,
  fallback: () => '[another model went on]',
};
