import { z } from 'zod';
import {
  arrayOf,
  type ChatRequest,
  isObject,
  type Json,
  requestFields,
  type Tool,
} from '../../../src/plugin.ts';

const { cacheControl, fault, parsedBy, flag, nonEmptyText, optionalText, present } = requestFields;

/** Tools and their choice. */

/** A tool of the client, or the type of one that only Anthropic's servers or models have, with its options if it is the search. */
type AnyTool = Tool | { readonly foreign: string; readonly name: string; readonly search?: Json };

const customTool = z
  .object({
    name: nonEmptyText,
    description: optionalText,
    input_schema: z.custom<Record<string, unknown>>(isObject, 'is required: the JSON Schema of its input'),
    strict: flag,
    cache_control: cacheControl,
  })
  .transform(
    ({ name, input_schema, description, strict, cache_control }): Tool => ({
      type: 'function',
      function: { name, ...present({ description }), parameters: input_schema, ...present({ strict }) },
      ...present({ cache_control }),
    }),
  );

/** Whether this is the type of the search, which upstreams may have. */
export const isSearch = (type: unknown): boolean => /^web_search_\d+$/.test(String(type));

/** Names of the fields of the search that are passed on. */
export const searchFields: ReadonlySet<string> = new Set([
  ...['type', 'name', 'max_uses', 'allowed_domains', 'blocked_domains', 'user_location'],
]);

/** The search as chat completions have it, with filters and the most uses. */
function searchOptions({ max_uses, allowed_domains, blocked_domains, user_location: place }: Json): Json {
  const { type, ...near } = isObject(place) ? place : {};
  const filters = present({ allowed_domains, blocked_domains });
  return {
    ...present({ max_uses }),
    ...(Object.keys(filters).length > 0 && { filters }),
    ...(isObject(place) && { user_location: { type: 'approximate', approximate: present(near) } }),
  };
}

const tool = z.unknown().transform((given, issues): AnyTool => {
  if (!isObject(given)) return fault(issues, 'must be an object {name, description, input_schema}');
  const { type, name } = given;
  if (type == null || type === 'custom') return parsedBy(customTool, given, issues) ?? z.NEVER;
  if (typeof type !== 'string') return fault(issues, 'must be "custom", or left out', 'type');
  const foreign = { foreign: type, name: typeof name === 'string' ? name : '' };
  return isSearch(type) ? { ...foreign, search: searchOptions(given) } : foreign;
});

export const tools = arrayOf(tool, 'must be an array of tools').nullish();

const kinds = ['auto', 'any', 'tool', 'none'] as const;

export const toolChoice = z
  .object(
    {
      type: z.enum(kinds, `must be one of: ${kinds.join(', ')}`),
      name: optionalText,
      disable_parallel_tool_use: flag,
    },
    'must be an object {type}',
  )
  .superRefine(({ type, name }, issues) => {
    if (type === 'tool' && !name) fault(issues, 'is required: the name of the tool', 'name');
  })
  .nullish();

type Choice = z.output<typeof toolChoice>;

/** The tools as functions, and the types of those that are not offered here. */
export function functionsIn(given: readonly AnyTool[] | null | undefined) {
  const functions: Tool[] = [];
  const foreign: string[] = [];
  let search: Extract<AnyTool, { foreign: string }> | undefined;
  for (const one of given ?? []) {
    if (!('foreign' in one)) functions.push(one);
    else if (one.search) search = one;
    else foreign.push(one.foreign);
  }
  return { functions, foreign, search };
}

/** Refuses a choice that forces a tool which is not there. For `superRefine`. */
export function checkChoice(
  {
    tools: given,
    tool_choice: choice,
  }: { tools?: readonly AnyTool[] | null | undefined; tool_choice?: Choice },
  issues: z.RefinementCtx,
): void {
  if (choice?.type !== 'tool' || !given) return;
  const chosen = given.find(one => ('foreign' in one ? one.name : one.function.name) === choice.name);
  if (chosen && (!('foreign' in chosen) || chosen.search)) return;
  const why = chosen ? `: tools of the type ${chosen.foreign} are not offered here` : '';
  fault(issues, `must be the name of one of the tools${why}`, 'tool_choice', 'name');
}

/** The choice as parameters of the canonical request. */
export function choiceParameters(
  choice: Choice,
  search: { readonly name: string } | undefined,
): ChatRequest['parameters'] {
  if (!choice) return {};
  const { type, name, disable_parallel_tool_use } = choice;
  const forms = {
    auto: 'auto',
    any: 'required',
    none: 'none',
    tool: name === search?.name ? { type: 'web_search' } : { type: 'function', function: { name } },
  };
  return {
    tool_choice: forms[type],
    ...(disable_parallel_tool_use === true && { parallel_tool_calls: false }),
  };
}

/** Names of the fields of a tool; all others are named as ignored. */
export const toolFields: ReadonlySet<string> = new Set(['type', ...Object.keys(customTool.in.shape)]);
