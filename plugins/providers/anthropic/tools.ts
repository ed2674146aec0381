import {
  type ChatRequest,
  invalidField,
  isObject,
  type Json,
  type Message,
  type Tool,
} from '../../../src/plugin.ts';

/** Fields for a request's tools and their use. */
export function toolFields({ tools, parameters, messages }: ChatRequest, strict_tools: boolean): Json {
  if (!tools?.length) return formerTools(messages);
  const choice = toolChoice(parameters.tool_choice, parameters.parallel_tool_calls === false);
  return {
    tools: tools.map(tool => toolOf(tool, strict_tools)),
    ...(choice && { tool_choice: choice }),
  };
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
  const names = new Set(
    messages.flatMap(({ tool_calls }) => (tool_calls ?? []).map(call => call.function.name)),
  );
  if (names.size === 0) return {};
  return {
    tools: [...names].map(name => ({ name, input_schema: { type: 'object' } })),
    tool_choice: { type: 'none' },
  };
}
