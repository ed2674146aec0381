import {
  type ChatRequest,
  invalidField,
  isObject,
  type Json,
  type Message,
  type Tool,
} from '../../../src/plugin.ts';
import { isSearch, searchTool } from './web-search.ts';

/** Fields for a request's tools and their use. */
export function toolFields({ tools = [], parameters, messages }: ChatRequest, strict_tools: boolean): Json {
  const search = searchTool(parameters.web_search_options);
  if (tools.length === 0 && !search) return formerTools(messages);
  const choice = toolChoice(parameters.tool_choice, parameters.parallel_tool_calls === false);
  const own = tools.length > 0 ? tools.map(tool => toolOf(tool, strict_tools)) : calledTools(messages);
  return { tools: search ? [...own, search] : own, ...(choice && { tool_choice: choice }) };
}

/** Whether the model must call a tool. */
export const isForcing = ({ tool_choice: choice }: Json): boolean =>
  isObject(choice) && (choice.type === 'any' || choice.type === 'tool');

function toolOf({ function: called, cache_control }: Tool, strict_tools: boolean): Json {
  const { name, description, parameters, strict } = called;
  return {
    name,
    ...(typeof description === 'string' && description !== '' && { description }),
    input_schema: isObject(parameters) ? parameters : { type: 'object', properties: {} },
    ...(strict_tools && strict === true && { strict }),
    ...(cache_control && { cache_control }),
  };
}

function toolChoice(choice: unknown, isSingle: boolean): Json | undefined {
  const alone = isSingle && { disable_parallel_tool_use: true };
  switch (choice) {
    case undefined:
      return isSingle ? { type: 'auto', ...alone } : undefined;
    case 'auto':
      return { type: 'auto', ...alone };
    case 'none':
      return { type: 'none' };
    case 'required':
      return { type: 'any', ...alone };
  }
  if (isSearch(choice)) return { type: 'tool', name: 'web_search', ...alone };
  if (isObject(choice) && choice.type === 'function' && isObject(choice.function)) {
    const { name } = choice.function;
    if (typeof name === 'string') return { type: 'tool', name, ...alone };
  }
  throw invalidField(
    'tool_choice',
    'must be "auto", "none", "required" or {type: "function", function: {name}} for this model.',
  );
}

/** Fields for tools that were called earlier: the API requires them even if they are not offered any more. */
function formerTools(messages: readonly Message[]): Json {
  const tools = calledTools(messages);
  return tools.length === 0 ? {} : { tools, tool_choice: { type: 'none' } };
}

function calledTools(messages: readonly Message[]): Json[] {
  const calls = messages.flatMap(({ tool_calls }) => tool_calls ?? []);
  const names = new Set(calls.map(call => call.function.name));
  return [...names].map(name => ({ name, input_schema: { type: 'object' } }));
}
