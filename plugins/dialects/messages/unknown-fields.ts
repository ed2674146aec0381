import { type ChatRequest, isObject, setAsideUnknown } from '../../../src/plugin.ts';
import { blockFields } from './content-blocks.ts';
import { isSearch, searchFields, toolFields } from './messages-tools.ts';

type Fields = Readonly<Record<string, unknown>>;

const messageFields: ReadonlySet<string> = new Set(['role', 'content']);
/** Known members of fields, by field. */
const members: Readonly<Record<string, ReadonlySet<string>>> = {
  metadata: new Set(['user_id']),
  output_config: new Set(['effort', 'format']),
  thinking: new Set(['type', 'budget_tokens']),
  tool_choice: new Set(['type', 'name', 'disable_parallel_tool_use']),
};
/** Default values, which are not named as ignored. */
const usual: Fields = { display: 'summarized' };

/** Moves members that are not known, of fields, messages, blocks and tools, to `request.unknown`, each name once: `messages.content.title`. */
export function setAsideInside(request: ChatRequest, body: Fields): void {
  for (const [name, known] of Object.entries(members)) {
    const field = body[name];
    if (isObject(field)) setAsideMembers(request, field, known, `${name}.`);
  }
  setAsideInBlocks(request, body.system, 'system.');
  for (const message of listIn(body.messages)) {
    setAsideMembers(request, message, messageFields, 'messages.');
    setAsideInBlocks(request, message.content, 'messages.content.');
  }
  for (const tool of listIn(body.tools))
    if (tool.type == null || tool.type === 'custom') setAsideMembers(request, tool, toolFields, 'tools.');
    else if (isSearch(tool.type)) setAsideMembers(request, tool, searchFields, 'tools.');
}

function setAsideInBlocks(request: ChatRequest, blocks: unknown, prefix: string): void {
  for (const block of listIn(blocks)) {
    const known = blockFields[String(block.type)];
    if (!known) continue;
    setAsideMembers(request, block, known, prefix);
    if (block.type === 'tool_result') setAsideInBlocks(request, block.content, `${prefix}content.`);
  }
}

function setAsideMembers(
  request: ChatRequest,
  from: Fields,
  known: ReadonlySet<string>,
  prefix: string,
): void {
  const isUsual = (name: string) => Object.hasOwn(usual, name) && usual[name] === from[name];
  const names = Object.keys(from).filter(name => !known.has(name));
  if (names.length > 0) setAsideUnknown(request, from, new Set([...known, ...names.filter(isUsual)]), prefix);
}

const listIn = (value: unknown): Fields[] => (Array.isArray(value) ? value.filter(isObject) : []);
