import { z } from 'zod';
import { type ContentPart, isObject, type Message, requestFields } from '../../../src/plugin.ts';
import { definedCallSchema, definedKinds, definedOutputSchema } from './defined-tools.ts';
import { type Bringing, historyItems, type Note } from './history-items.ts';
import {
  anyPart,
  assistantPart,
  type ReasoningInput,
  reasoningAmong,
  reasoningInput,
  textOnly,
} from './input-parts.ts';
import type { CalledTool } from './tool-names.ts';

const { eachParsedBy, fault, parsedBy, message, isStringOrArray, nonEmptyText, optionalText, text } =
  requestFields;

/** Items of `input`: messages, reasoning, calls and their outputs. */

/** A parsed item. */
export type Item =
  | Message
  | { readonly call?: CalledTool; readonly output?: Message; readonly unseen?: Message }
  | Note
  | Bringing
  | { readonly reasoning_item: ReasoningInput };

const acceptedContent = 'must be a string or an array of {type: "input_text", text} parts';

type PartSchema = z.ZodType<ContentPart | undefined>;

/** Content of parts: one text becomes a string, which all servers and templates accept; several stay parts. */
function contentOf(
  schema: PartSchema,
  given: readonly unknown[],
  issues: z.RefinementCtx,
  path: PropertyKey,
): string | ContentPart[] | undefined {
  const parts = eachParsedBy(schema, given, issues, [path])?.filter(part => part !== undefined);
  if (!parts || parts.length > 1) return parts;
  const [part] = parts;
  if (!part) return '';
  return part.type === 'text' && !part.native ? part.text : parts;
}

const called = { call_id: nonEmptyText, name: nonEmptyText, namespace: optionalText };

const functionCall = z
  .object({ ...called, arguments: z.string('must be a string of JSON') })
  .transform(({ call_id: id, name, namespace, arguments: json }): Item => {
    const tool = { kind: 'function' as const, name, namespace: namespace ?? undefined };
    return { call: { id, tool, arguments: json } };
  });

const customCall = z
  .object({ ...called, input: text })
  .transform(({ call_id: id, name, namespace, input }): Item => {
    const tool = { kind: 'custom' as const, name, namespace: namespace ?? undefined };
    return { call: { id, tool, arguments: JSON.stringify({ input }) } };
  });

const callOutput = z
  .object({
    call_id: nonEmptyText,
    output: z.custom<string | unknown[]>(isStringOrArray, 'must be a string or an array of parts'),
  })
  .transform(({ call_id, output }, issues): Item => {
    // A function may return nothing.
    const content = Array.isArray(output) ? contentOf(anyPart, output, issues, 'output') : output;
    return { output: { role: 'tool', tool_call_id: call_id, content: content ?? '' } };
  });

const definedOutput = definedOutputSchema.transform(
  ({ id, content }): Item => ({ output: { role: 'tool', tool_call_id: id, content } }),
);

/** Calls of tools that OpenAI defines, and their outputs. */
const definedItems = Object.fromEntries(
  definedKinds.flatMap((kind): [string, z.ZodType<Item>][] => {
    const tool = { kind, name: kind };
    const call = definedCallSchema(kind).transform((given): Item => ({ call: { ...given, tool } }));
    return [
      [`${kind}_call`, call],
      [`${kind}_call_output`, definedOutput],
    ];
  }),
);

const partsOf = (role: unknown): PartSchema => {
  if (role === 'assistant') return assistantPart;
  return role === 'user' || role === 'tool' ? anyPart : textOnly;
};

const inputMessage = z.unknown().transform((given, issues): Item | undefined => {
  if (!isObject(given) || !Array.isArray(given.content))
    return parsedBy(message, given, issues, [], contentMessage);
  const { role, content: parts } = given;
  if (parts.length === 0) return fault(issues, 'must not be empty.', 'content');
  const content = contentOf(partsOf(role), parts, issues, 'content');
  if (content === undefined) return undefined;
  // The content has been parsed; only its other fields are left.
  const parsed = parsedBy(message, { ...given, content: '' }, issues);
  if (!parsed) return undefined;
  parsed.content = content;
  const reasoning = role === 'assistant' ? reasoningAmong(parts) : '';
  if (reasoning) parsed.reasoning ??= reasoning;
  return parsed;
});

/** The message of a fault: chat's, except for content, whose parts have other types here. */
const contentMessage = ({ path, message }: z.core.$ZodIssue): string =>
  path.length === 1 && path[0] === 'content' ? acceptedContent : message;

const kinds: Readonly<Record<string, z.ZodType<Item | undefined>>> = {
  message: inputMessage,
  function_call: functionCall,
  function_call_output: callOutput,
  custom_tool_call: customCall,
  custom_tool_call_output: callOutput,
  reasoning: reasoningInput.transform((reasoning_item): Item => ({ reasoning_item })),
  ...definedItems,
  ...historyItems,
};

const reference =
  "must not be 'item_reference': replies are not stored here; send the items themselves, as clients do with store: false.";

/** An item by its `type`; without one it is a message. `undefined` after a fault. */
export const item = z.unknown().transform((given, issues): Item | undefined => {
  const type = isObject(given) ? (given.type ?? 'message') : 'message';
  const kind = typeof type === 'string' && Object.hasOwn(kinds, type) ? kinds[type] : undefined;
  if (kind) return parsedBy(kind, given, issues);
  const message = type === 'item_reference' ? reference : `must be one of: ${Object.keys(kinds).join(', ')}`;
  return fault(issues, message, 'type');
});
