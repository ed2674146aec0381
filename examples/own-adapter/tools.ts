import { type ChatRequest, invalidField, isObject, type Tool } from 'sluice/plugin';

/** Fields for a request's tools and their use. */
export function toolFields({ tools, parameters: { tool_choice } }: ChatRequest): object {
  if (!tools?.length) return {};
  const config = tool_choice === undefined ? undefined : callingConfig(tool_choice);
  return {
    tools: [{ functionDeclarations: tools.map(declarationOf) }],
    ...(config && { toolConfig: { functionCallingConfig: config } }),
  };
}

function declarationOf({ function: { name, description, parameters } }: Tool): object {
  return {
    name,
    ...(typeof description === 'string' && description !== '' && { description }),
    // Any JSON Schema; `parameters` would take a part of OpenAPI's only.
    ...(isObject(parameters) && { parametersJsonSchema: parameters }),
  };
}

function callingConfig(choice: unknown): object {
  if (choice === 'auto') return { mode: 'AUTO' };
  if (choice === 'none') return { mode: 'NONE' };
  if (choice === 'required') return { mode: 'ANY' };
  if (isObject(choice) && choice.type === 'function' && isObject(choice.function)) {
    const { name } = choice.function;
    if (typeof name === 'string') return { mode: 'ANY', allowedFunctionNames: [name] };
  }
  throw invalidField(
    'tool_choice',
    'must be "auto", "none", "required" or {type: "function", function: {name}} for this model.',
  );
}
