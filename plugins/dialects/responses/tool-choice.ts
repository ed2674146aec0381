import { z } from 'zod';
import {
  arrayOf,
  type ChatRequest,
  fieldPath,
  invalidField,
  isObject,
  requestFields,
  shown,
} from '../../../src/plugin.ts';
import { definedKinds, isDefined } from './defined-tools.ts';
import { isHosted, isSearch } from './tool-list.ts';
import type { ClientTool, ToolNames } from './tool-names.ts';

const { fault, parsedBy, nonEmptyText } = requestFields;

const modes = ['none', 'auto', 'required'];

const chosenTool = z
  .object({
    type: z.enum(
      ['function', 'custom'],
      'must be "function", "custom" or "allowed_tools"; hosted tools are not offered',
    ),
    name: nonEmptyText,
    namespace: nonEmptyText.nullish(),
  })
  .transform(
    ({ type, name, namespace }): ClientTool => ({ kind: type, name, namespace: namespace ?? undefined }),
  );

const definedTool = z
  .object({ type: z.enum(definedKinds) })
  .transform(({ type }): ClientTool => ({ kind: type, name: type }));

/** Stands for the search, which is no function. */
const search = 'web_search';

/** One tool, of whatever kind. */
const schemaOf = (given: Readonly<Record<string, unknown>>) =>
  isDefined(given.type) ? definedTool : chosenTool;

/** One of the allowed tools; `undefined` for a hosted one that is left out of the tools as well. */
const allowedTool = z.unknown().transform((given, issues): ClientTool | typeof search | undefined => {
  if (!isObject(given)) return parsedBy(chosenTool, given, issues);
  if (isSearch(given)) return search;
  return isHosted(given) ? undefined : parsedBy(schemaOf(given), given, issues);
});

const allowedTools = z.object({
  type: z.literal('allowed_tools'),
  mode: z.enum(['auto', 'required'], 'must be "auto" or "required"'),
  tools: arrayOf(allowedTool, 'must be an array of tools', 'must not be empty.'),
});

/** A choice: a mode, one tool, or some of the tools. */
export type ToolChoice = string | ClientTool | z.output<typeof allowedTools>;

/** The field `tool_choice`. */
export const toolChoice = z
  .unknown()
  .transform((given, issues): ToolChoice | undefined => {
    if (given == null) return undefined;
    if (typeof given === 'string' && modes.includes(given)) return given;
    if (!isObject(given))
      return fault(issues, 'must be "none", "auto", "required" or {type: "function", name}');
    if (isSearch(given)) return search;
    const schema = given.type === 'allowed_tools' ? allowedTools : schemaOf(given);
    return parsedBy<ToolChoice>(schema, given, issues);
  })
  .optional();

/** Whether a choice is one function, which chat completions can name as well. */
export const isPlainTool = (choice: ToolChoice): boolean =>
  typeof choice === 'object' &&
  'kind' in choice &&
  choice.kind === 'function' &&
  choice.namespace === undefined;

/** Writes the choice into a request with its tools. Throws `invalid_request` if it names a tool that is not declared. */
export function chooseTools(request: ChatRequest, choice: ToolChoice, names: ToolNames): void {
  const { parameters, tools = [] } = request;
  const { web_search_options } = parameters;
  if (choice === search) {
    if (!web_search_options)
      throw invalidField('tool_choice.type', 'must be that of a tool of this request.');
    parameters.tool_choice = { type: search };
  } else if (typeof choice === 'string') parameters.tool_choice = choice;
  else if ('kind' in choice) {
    // Without tools the choice is the `validation` stage's.
    const name = tools.length > 0 ? declaredName(choice, names, ['tool_choice']) : names.functionOf(choice);
    parameters.tool_choice = { type: 'function', function: { name } };
  } else {
    // Few servers know a list of allowed tools, and the model must not call the others.
    const allowed = new Set(
      choice.tools.map((tool, at) =>
        typeof tool === 'object' ? declaredName(tool, names, ['tool_choice', 'tools', at]) : tool,
      ),
    );
    if (!allowed.has(search)) delete parameters.web_search_options;
    request.tools = tools.filter(tool => allowed.has(tool.function.name));
    parameters.tool_choice = choice.mode;
  }
}

function declaredName(tool: ClientTool, names: ToolNames, path: readonly PropertyKey[]): string {
  if (names.has(tool)) return names.functionOf(tool);
  throw invalidField(
    fieldPath([...path, 'name']),
    `must be the name of a tool of this request, not ${shown(tool.name)}`,
  );
}
