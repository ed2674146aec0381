import { isObject, type JsonObject } from './json-value.ts';
import { Refusal } from './refusal.ts';

/** A function offered to the model. */
export interface ToolFunction {
  readonly name: string;
  readonly parameters: unknown;
}

/** Whether the model may, must or must not call a tool, or the one that it must call. */
export type ToolChoice = 'none' | 'auto' | 'required' | { readonly name: string };

/** The functions in `tools`; throws a Refusal for a list that vLLM does not take. */
export function readTools(body: JsonObject): ToolFunction[] {
  const list = body.tools ?? null;
  if (list === null) return [];
  if (!Array.isArray(list)) throw new Refusal(400, '`tools` must be an array.', 'tools');
  if (list.length === 0) {
    throw new Refusal(
      400,
      '`tools` must not be an empty array. Either provide at least one tool or omit the field entirely.',
      'tools',
    );
  }
  return list.map((tool: unknown, index) => {
    const offered = isObject(tool) ? tool.function : null;
    if (!isObject(offered) || typeof offered.name !== 'string') {
      throw new Refusal(400, `tools[${index}] must have a function with a name.`, 'tools');
    }
    return { name: offered.name, parameters: offered.parameters };
  });
}

/** The `tool_choice`, `auto` when tools are offered without one; throws a Refusal for one that fits no tool. */
export function readToolChoice(body: JsonObject, tools: readonly ToolFunction[]): ToolChoice {
  const choice = body.tool_choice ?? null;
  if (choice === null) return tools.length > 0 ? 'auto' : 'none';
  if (choice === 'none') return 'none';
  if (tools.length === 0) {
    throw new Refusal(400, 'When using `tool_choice`, `tools` must be set.', 'tool_choice');
  }
  if (choice === 'auto' || choice === 'required') return choice;
  const name = isObject(choice) && isObject(choice.function) ? choice.function.name : null;
  if (typeof name !== 'string') {
    throw new Refusal(
      400,
      'Invalid value for `tool_choice`! Only named tools, "none", "auto" or "required" are supported.',
      'tool_choice',
    );
  }
  if (!tools.some(tool => tool.name === name)) {
    throw new Refusal(
      400,
      'The tool specified in `tool_choice` does not match any of the specified `tools`',
      'tool_choice',
    );
  }
  return { name };
}
