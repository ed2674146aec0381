import { z } from 'zod';
import {
  arrayOf,
  fieldPath,
  invalidField,
  isObject,
  type Json,
  requestFields,
  shown,
  type Tool,
} from '../../../src/plugin.ts';
import { type DefinedKind, functionOfDefined, isDefined } from './defined-tools.ts';
import { ToolNames } from './tool-names.ts';

const { byType, parsedBy, anyObject, flag, nonEmptyText, optionalText, present } = requestFields;

/** Tools of Responses requests. Upstreams get all that a client runs itself as functions. */

/** Tools that OpenAI runs. Only declared, they change nothing for a client, since a model need not call a tool. */
const hosted_tools: ReadonlySet<string> = new Set([
  'code_interpreter',
  'computer',
  'computer_use_preview',
  'file_search',
  'image_generation',
  'mcp',
  'programmatic_tool_calling',
  'tool_search',
  'web_search',
  'web_search_preview',
]);

/** Whether a tool is the search, which upstreams may have. */
export const isSearch = (tool: unknown): boolean =>
  isObject(tool) && /^web_search(_preview)?(_\d{4}_\d{2}_\d{2})?$/.test(String(tool.type));

/** The search as chat completions have it, with its filters; undefined for any other tool. */
function searchOptions(tool: Json): Json {
  const { search_context_size, user_location: place, filters } = tool;
  const { type, ...near } = isObject(place) ? place : {};
  const user_location = isObject(place) ? { type: 'approximate', approximate: present(near) } : undefined;
  return present({ search_context_size, user_location, filters });
}

/** Whether OpenAI would run this tool. Its type may have the date of its version, as in `web_search_2025_08_26`. */
export function isHosted(tool: unknown): boolean {
  if (!isObject(tool) || typeof tool.type !== 'string') return false;
  const { type, environment } = tool;
  if (type === 'shell') return isObject(environment) && environment.type !== 'local';
  return hosted_tools.has(type.replace(/_\d{4}_\d{2}_\d{2}$/, ''));
}

const functionTool = z.object({
  type: z.literal('function'),
  name: nonEmptyText,
  description: optionalText,
  strict: flag,
  parameters: anyObject.nullish(),
});

const grammar = z.object({
  type: z.literal('grammar'),
  syntax: z.enum(['lark', 'regex'], 'must be "lark" or "regex"'),
  definition: nonEmptyText,
});

const formats = { text: z.unknown().transform(() => undefined), grammar };
const format = byType<z.output<typeof grammar> | undefined>(
  formats,
  'must be "text" or "grammar"',
  'must be an object {type}',
);

const customTool = z.object({
  type: z.literal('custom'),
  name: nonEmptyText,
  description: optionalText,
  format: format.nullish(),
});

type OwnTool = z.output<typeof functionTool> | z.output<typeof customTool>;

const ownKinds = { function: functionTool, custom: customTool };
const notTool = 'must be an object {type: "function", name, description, parameters}';

const namespaceTool = z.object({
  type: z.literal('namespace'),
  name: nonEmptyText,
  description: optionalText,
  tools: arrayOf(
    byType<OwnTool>(ownKinds, 'must be "function" or "custom"', notTool),
    'must be an array of tools',
  ),
});

type DeclaredTool = OwnTool | z.output<typeof namespaceTool>;

const declaredTool = byType<DeclaredTool>(
  { ...ownKinds, namespace: namespaceTool },
  'must be "function", "custom" or "namespace", or a hosted tool of OpenAI\'s, which is left out',
  notTool,
);

/** A tool of a request; `hosted` is left out unless it is the search. */
export type AnyTool =
  | DeclaredTool
  | { readonly type: 'hosted'; readonly search?: Json }
  | { readonly type: DefinedKind };

const anyTool = z.unknown().transform((given, issues): AnyTool => {
  if (isHosted(given))
    return { type: 'hosted', ...(isSearch(given) && { search: searchOptions(given as Json) }) };
  if (isObject(given) && isDefined(given.type)) return { type: given.type };
  return parsedBy(declaredTool, given, issues) ?? z.NEVER;
});

/** The field `tools`. */
export const toolList = arrayOf(anyTool, 'must be an array of tools').nullish();

/** Parsed tools as they were declared, but for hosted ones that are left out. */
export const withoutHosted = (tools: unknown): unknown[] | undefined =>
  Array.isArray(tools) ? tools.filter(tool => isSearch(tool) || !isHosted(tool)) : undefined;

/** Tools of a request as functions, and their names. */
export interface DeclaredTools {
  readonly functions: Tool[];
  readonly names: ToolNames;
  /** The search, if it is declared. */
  readonly search?: Json;
  /** Whether all are plain functions, which keep their names. */
  readonly arePlain: boolean;
}

/** The tools as functions. Throws `invalid_request` for two of one name, unless they are plain functions, which the upstream judges. */
export function declaredTools(list: readonly AnyTool[]): DeclaredTools {
  const names = new ToolNames();
  for (const tool of list) if (tool.type === 'function') names.declare({ kind: 'function', name: tool.name });
  const functions: Tool[] = [];
  for (const [at, tool] of list.entries()) {
    if (isDefined(tool.type)) functions.push(declaredDefined(names, tool.type, at));
    if (tool.type === 'function') functions.push(functionOf(tool, tool.name));
    if (tool.type === 'custom') functions.push(declaredIn(names, tool, undefined, ['tools', at]));
    if (tool.type !== 'namespace') continue;
    const { name, description } = tool;
    for (const [place, inner] of tool.tools.entries()) {
      const called = declaredIn(names, inner, name, ['tools', at, 'tools', place]);
      // Once is enough: models read the whole list.
      if (place === 0 && description) describe(called, `Tools of ${name}: ${description}`);
      functions.push(called);
    }
  }
  const search = list.findLast(tool => tool.type === 'hosted' && tool.search);
  const arePlain = list.every(({ type }) => type === 'function' || type === 'hosted');
  return { functions, names, arePlain, ...(search && 'search' in search && { search: search.search }) };
}

function declaredDefined(names: ToolNames, kind: DefinedKind, at: number): Tool {
  const named = { kind, name: kind };
  if (names.declare(named)) return functionOfDefined(kind, names.functionOf(named));
  throw invalidField(fieldPath(['tools', at, 'type']), `must be unique, not ${shown(kind)} again`);
}

function declaredIn(
  names: ToolNames,
  tool: OwnTool,
  namespace: string | undefined,
  path: PropertyKey[],
): Tool {
  const named = { kind: tool.type, name: tool.name, namespace };
  if (!names.declare(named))
    throw invalidField(fieldPath([...path, 'name']), `must be unique, not ${shown(tool.name)} again`);
  return functionOf(tool, names.functionOf(named));
}

function functionOf(tool: OwnTool, name: string): Tool {
  if (tool.type === 'custom') return functionOfCustom(tool, name);
  const { description, parameters, strict } = tool;
  return { type: 'function', function: { name, ...present({ description, strict, parameters }) } };
}

/** A tool that takes free text, as a function with one text. */
function functionOfCustom({ description, format: rule }: z.output<typeof customTool>, name: string): Tool {
  const input = { type: 'string', description: 'The whole input of the tool, as it is.' };
  const parameters = {
    type: 'object',
    properties: { input },
    required: ['input'],
    additionalProperties: false,
  };
  const tool: Tool = { type: 'function', function: { name, ...present({ description }), parameters } };
  if (rule) describe(tool, `The input must match this ${rule.syntax} grammar:\n${rule.definition}`, 'after');
  return tool;
}

/** Adds to the description. */
function describe({ function: called }: Tool, text: string, side: 'before' | 'after' = 'before'): void {
  const texts = [text, called.description].filter(one => one);
  called.description = (side === 'before' ? texts : texts.reverse()).join('\n\n');
}
