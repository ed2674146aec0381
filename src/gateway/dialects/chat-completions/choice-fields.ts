import { z } from 'zod';
import { isObject } from '../../../common/json-object.ts';
import type { Tool } from '../../exchange/canonical.ts';
import { fault } from '../request-schema/first-fault.ts';

/** Fields of chat completions that have a kind. Servers ignore a kind that they do not know, and then answer something else. */

/** `structural_tag` is that of vLLM and SGLang. */
const formats = ['text', 'json_object', 'json_schema', 'structural_tag'];

/** The field `response_format`, forwarded as it is. */
export const responseFormat = z
  .custom<Record<string, unknown>>(isObject, 'must be an object')
  .superRefine(({ type, json_schema }, issues) => {
    if (typeof type !== 'string' || !formats.includes(type))
      fault(issues, `must be one of: ${formats.join(', ')}`, 'type');
    else if (type === 'json_schema' && !isObject(json_schema))
      fault(issues, 'is required: an object {name, schema}', 'json_schema');
  })
  .nullish();

const modes = ['none', 'auto', 'required'];
const aChoice = 'must be "none", "auto", "required" or {type: "function", function: {name}}';

type Choice = string | Record<string, unknown>;

/** The field `tool_choice`, forwarded as it is. */
export const toolChoice = z
  .custom<Choice>(value => isObject(value) || modes.includes(value as string), aChoice)
  .nullish();

/** Refuses a choice that names no tool of the request. Without tools that is the `validation` stage's, as for `required`. */
export function checkToolChoice(
  {
    tools,
    tool_choice,
  }: { tools?: readonly Tool[] | null | undefined; tool_choice?: Choice | null | undefined },
  issues: z.RefinementCtx,
): void {
  if (!isObject(tool_choice)) return;
  const { type, allowed_tools: allowed } = tool_choice;
  if (type === 'function') return checkNamed(tool_choice, tools, issues, ['tool_choice']);
  if (type !== 'allowed_tools')
    return fault(issues, 'must be "function" or "allowed_tools"', 'tool_choice', 'type');
  const path = ['tool_choice', 'allowed_tools'];
  if (!isObject(allowed) || !Array.isArray(allowed.tools))
    return fault(issues, 'must be an object {mode, tools}', ...path);
  for (const [at, tool] of allowed.tools.entries()) checkNamed(tool, tools, issues, [...path, 'tools', at]);
}

function checkNamed(
  chosen: unknown,
  tools: readonly Tool[] | null | undefined,
  issues: z.RefinementCtx,
  path: readonly PropertyKey[],
): void {
  const called = isObject(chosen) && isObject(chosen.function) ? chosen.function : {};
  const isNamed = typeof called.name === 'string' && called.name !== '';
  const isKnown = !tools?.length || tools.some(tool => tool.function.name === called.name);
  if (!isNamed || !isKnown)
    fault(issues, 'must be the name of a tool of this request', ...path, 'function', 'name');
}
