import { z } from 'zod';
import type { Message, TextPart, ToolCall } from '../../canonical.ts';
import { isObject } from '../../json-object.ts';
import { eachParsedBy, fault, parsedBy } from '../request-schema/first-fault.ts';
import { message } from '../request-schema/message.ts';
import { isStringOrArray, nonEmptyText, text } from '../request-schema/shared-fields.ts';

/** Items of `input`: messages, function calls and their outputs. Reasoning is dropped, as in chat. */

/** A parsed item; `undefined` if it is dropped. */
export type Item = Message | { readonly call: ToolCall } | { readonly output: Message } | undefined;

const acceptedContent = 'must be a string or an array of {type: "input_text", text} parts';
const acceptedParts = 'must be "input_text", "output_text" or "text"; other content is not accepted';

const textPart = z.object(
  {
    type: z.enum(['input_text', 'output_text', 'text'], acceptedParts),
    text,
  },
  'must be an object {type: "input_text", text}',
);

const anyPart = z.unknown().transform((given, issues): TextPart | undefined => {
  const part = parsedBy(textPart, given, issues);
  return part && { type: 'text', text: part.text };
});

/** A part of an assistant's message, which may be one that only replies have. */
const assistantPart = z.unknown().transform((given, issues): TextPart | undefined => {
  if (isObject(given) && given.type === 'reasoning') return undefined;
  if (isObject(given) && given.type === 'refusal' && typeof given.refusal === 'string')
    return { type: 'text', text: given.refusal };
  return parsedBy(anyPart, given, issues);
});

/** The text of parts: one becomes a string, which all servers and templates accept; several stay parts. */
function textOfParts(
  schema: typeof anyPart,
  given: readonly unknown[],
  issues: z.RefinementCtx,
  path: PropertyKey,
): string | TextPart[] | undefined {
  const parts = eachParsedBy(schema, given, issues, [path])?.filter(text => text !== undefined);
  return parts && parts.length < 2 ? (parts[0]?.text ?? '') : parts;
}

const functionCall = z
  .object({
    call_id: nonEmptyText,
    name: nonEmptyText,
    arguments: z.string('must be a string of JSON'),
  })
  .transform(
    ({ call_id, ...called }): Item => ({ call: { id: call_id, type: 'function', function: called } }),
  );

const functionCallOutput = z
  .object({
    call_id: nonEmptyText,
    output: z.custom<string | unknown[]>(isStringOrArray, 'must be a string or an array of parts'),
  })
  .transform(({ call_id, output }, issues): Item => {
    // A function may return nothing.
    const content = Array.isArray(output) ? textOfParts(anyPart, output, issues, 'output') : output;
    return { output: { role: 'tool', tool_call_id: call_id, content: content ?? '' } };
  });

const inputMessage = z.unknown().transform((given, issues): Item => {
  if (!isObject(given) || !Array.isArray(given.content))
    return parsedBy(message, given, issues, [], contentMessage);
  if (given.content.length === 0) return fault(issues, 'must not be empty', 'content');
  const schema = given.role === 'assistant' ? assistantPart : anyPart;
  const content = textOfParts(schema, given.content, issues, 'content');
  return content === undefined ? undefined : parsedBy(message, { ...given, content }, issues);
});

/** The message of a fault: chat's, except for content, whose parts have other types here. */
const contentMessage = ({ path, message }: z.core.$ZodIssue): string =>
  path.length === 1 && path[0] === 'content' ? acceptedContent : message;

const dropped = z.unknown().transform((): Item => undefined);

const kinds: Readonly<Record<string, z.ZodType<Item>>> = {
  message: inputMessage,
  function_call: functionCall,
  function_call_output: functionCallOutput,
  reasoning: dropped,
};

const reference =
  "must not be 'item_reference': replies are not stored here; send the items themselves, as clients do with store: false.";

/** An item by its `type`; without one it is a message. */
export const item = z.unknown().transform((given, issues): Item => {
  const type = isObject(given) ? (given.type ?? 'message') : 'message';
  const kind = typeof type === 'string' && Object.hasOwn(kinds, type) ? kinds[type] : undefined;
  if (kind) return parsedBy(kind, given, issues);
  const message = type === 'item_reference' ? reference : `must be one of: ${Object.keys(kinds).join(', ')}`;
  return fault(issues, message, 'type');
});
