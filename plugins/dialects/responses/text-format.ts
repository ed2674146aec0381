import { z } from 'zod';
import { isObject, requestFields } from '../../../src/plugin.ts';

const { fault, parsedBy, anyObject, flag, nonEmptyText, optionalText, present } = requestFields;

const jsonSchemaFormat = z
  .object({ name: nonEmptyText, description: optionalText, strict: flag, schema: anyObject })
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

/** The field `text`. */
export const textField = z.object({ format: format.optional() }, 'must be an object {format}').nullish();
