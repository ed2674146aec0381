import { z } from 'zod';
import type { ChatRequest, Tool } from '../../canonical.ts';
import { parsedBy } from '../request-schema/first-fault.ts';
import { isObject } from '../request-schema/shared-fields.ts';

/** Tools, their choice and the text format: what a Responses request says flat and a chat request nested (protocol h10). */

const name = z.string('must be a string').min(1, 'must not be empty');
const object = z.custom<Record<string, unknown>>(isObject, 'must be an object').nullish();
const hosted = 'must be "function"; hosted and other tools are not offered';

export const functionTool = z
  .object(
    {
      type: z.literal('function', hosted),
      name,
      description: z.string('must be a string').nullish(),
      parameters: object,
      strict: z.boolean('must be true or false').nullish(),
    },
    'must be an object {type: "function", name, description, parameters}',
  )
  .transform(
    (tool): Tool => ({
      type: 'function',
      function: {
        name: tool.name,
        ...(tool.description != null && { description: tool.description }),
        ...(tool.parameters != null && { parameters: tool.parameters }),
        ...(tool.strict != null && { strict: tool.strict }),
      },
    }),
  );

const modes = ['none', 'auto', 'required'];
const chosenFunction = z.object({
  type: z.literal('function', 'must be "function"; other tools are not offered'),
  name,
});

export const toolChoice = z
  .unknown()
  .transform((given, issues): string | Record<string, unknown> | undefined => {
    if (given == null) return undefined;
    if (typeof given === 'string' && modes.includes(given)) return given;
    if (isObject(given)) {
      const chosen = parsedBy(chosenFunction, given, issues);
      return chosen && { type: 'function', function: { name: chosen.name } };
    }
    const message = 'must be "none", "auto", "required" or {type: "function", name}';
    issues.addIssue({ code: 'custom', message });
    return undefined;
  })
  .optional();

const jsonSchemaFormat = z
  .object({
    name,
    schema: z.custom<Record<string, unknown>>(isObject, 'must be an object'),
    description: z.string('must be a string').nullish(),
    strict: z.boolean('must be true or false').nullish(),
  })
  .transform(format => ({
    type: 'json_schema',
    json_schema: {
      name: format.name,
      ...(format.description != null && { description: format.description }),
      schema: format.schema,
      ...(format.strict != null && { strict: format.strict }),
    },
  }));

const formats = ['text', 'json_object', 'json_schema'];

/** `text.format` as chat's `response_format`; plain text needs none. */
const format = z.unknown().transform((given, issues): Record<string, unknown> | undefined => {
  if (given == null) return undefined;
  if (!isObject(given)) {
    issues.addIssue({ code: 'custom', message: 'must be an object {type}' });
    return undefined;
  }
  if (given.type === 'json_schema') return parsedBy(jsonSchemaFormat, given, issues);
  if (given.type === 'json_object') return { type: 'json_object' };
  if (given.type !== 'text')
    issues.addIssue({ code: 'custom', path: ['type'], message: `must be one of: ${formats.join(', ')}` });
  return undefined;
});

export const textField = z.object({ format: format.optional() }, 'must be an object {format}').nullish();

/** Tools as a reply repeats them. */
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
