import { z } from 'zod';
import type { ChatRequest, Tool } from '../../canonical.ts';
import { isObject } from '../../json-object.ts';
import { fault, parsedBy } from '../request-schema/first-fault.ts';
import { flag, nonEmptyText, optionalText, present } from '../request-schema/shared-fields.ts';

/** Tools, their choice and the text format, which are flat in Responses requests and nested in chat requests. */

const object = z.custom<Record<string, unknown>>(isObject, 'must be an object');
const shared = { name: nonEmptyText, description: optionalText, strict: flag };

export const functionTool = z
  .object(
    {
      type: z.literal('function', 'must be "function"; hosted and other tools are not offered'),
      ...shared,
      parameters: object.nullish(),
    },
    'must be an object {type: "function", name, description, parameters}',
  )
  .transform(({ type, name, ...rest }): Tool => ({ type, function: { name, ...present(rest) } }));

const modes = ['none', 'auto', 'required'];
const chosenFunction = z.object({
  type: z.literal('function', 'must be "function"; other tools are not offered'),
  name: nonEmptyText,
});

export const toolChoice = z
  .unknown()
  .transform((given, issues): string | Record<string, unknown> | undefined => {
    if (given == null) return undefined;
    if (typeof given === 'string' && modes.includes(given)) return given;
    if (!isObject(given))
      return fault(issues, 'must be "none", "auto", "required" or {type: "function", name}');
    const chosen = parsedBy(chosenFunction, given, issues);
    return chosen && { type: 'function', function: { name: chosen.name } };
  })
  .optional();

const jsonSchemaFormat = z
  .object({ ...shared, schema: object })
  .transform(({ name, ...rest }) => ({ type: 'json_schema', json_schema: { name, ...present(rest) } }));

/** `text.format` as chat's `response_format`; plain text needs none. */
const format = z.unknown().transform((given, issues): Record<string, unknown> | undefined => {
  if (given == null) return undefined;
  if (!isObject(given)) return fault(issues, 'must be an object {type}');
  if (given.type === 'json_schema') return parsedBy(jsonSchemaFormat, given, issues);
  if (given.type === 'json_object') return { type: 'json_object' };
  return given.type === 'text'
    ? undefined
    : fault(issues, 'must be one of: text, json_object, json_schema', 'type');
});

export const textField = z.object({ format: format.optional() }, 'must be an object {format}').nullish();

/** Tools as repeated in a reply. */
export function shownTools(tools: ChatRequest['tools'] = []): object[] {
  return tools.map(({ function: { name, description, parameters, strict } }) => ({
    type: 'function',
    name,
    description: description ?? null,
    parameters: parameters ?? null,
    strict: strict ?? null,
  }));
}

export function shownToolChoice(choice: unknown): unknown {
  const called = isObject(choice) && isObject(choice.function) ? choice.function : undefined;
  return called ? { type: 'function', name: called.name } : (choice ?? 'auto');
}

export function shownFormat(format: unknown): object {
  if (!isObject(format)) return { type: 'text' };
  return isObject(format.json_schema) ? { type: 'json_schema', ...format.json_schema } : format;
}
