import { type ChatRequest, invalidField, isObject } from '../../../src/plugin.ts';

const none: readonly string[] = [];

/**
 * Removes the parameters about the use of tools from a request without tools, and returns their names. Rejects one that forces a tool, since
 * the answer could not be what it asks for.
 */
export function dropToolChoice({ tools, parameters }: ChatRequest): readonly string[] {
  if (tools?.length || parameters.web_search_options) return none;
  if (!('tool_choice' in parameters || 'parallel_tool_calls' in parameters)) return none;
  const { tool_choice } = parameters;
  if (tool_choice === 'required' || isObject(tool_choice))
    throw invalidField('tool_choice', 'forces a tool, and the request has no tools.');
  const dropped = ['tool_choice', 'parallel_tool_calls'].filter(name => name in parameters);
  for (const name of dropped) delete parameters[name];
  return dropped;
}
