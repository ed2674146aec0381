import { z } from 'zod';
import type { Message, ToolCall } from '../../canonical.ts';
import { arrayOf, fault, parsedBy } from './first-fault.ts';
import { nonEmptyText, optionalText, text } from './shared-fields.ts';

const textPart = z.object(
  {
    type: z.literal('text', 'must be "text"; other content is not accepted'),
    text,
  },
  'must be an object {type: "text", text}',
);

const notContent = 'must be a string or an array of {type: "text", text} parts';
const textParts = arrayOf(textPart, notContent, 'must not be empty');

const toolCall: z.ZodType<ToolCall> = z.object(
  {
    id: nonEmptyText,
    type: z.literal('function', 'must be "function"'),
    function: z.object(
      {
        name: nonEmptyText,
        arguments: z.string('must be a string of JSON'),
      },
      'must be an object {name, arguments}',
    ),
  },
  'must be an object {id, type: "function", function: {name, arguments}}',
);

const roles = ['system', 'user', 'assistant', 'tool', 'developer'] as const;

const messageShape = z.object(
  {
    role: z.enum(roles, 'must be one of: system, user, assistant, tool (developer is read as system)'),
    content: z.unknown().optional(),
    tool_calls: arrayOf(toolCall, 'must be an array').nullish(),
    tool_call_id: optionalText,
    name: optionalText,
  },
  'must be an object {role, content}',
);

/** A message of the conversation. */
export const message = messageShape.transform((from, issues): Message => {
  const to: Message = { role: from.role === 'developer' ? 'system' : from.role };
  const calls = from.role === 'assistant' && from.tool_calls?.length ? from.tool_calls : undefined;
  if (from.content == null) {
    if (!calls) return fault(issues, notContent, 'content');
    to.content = null;
  } else if (typeof from.content === 'string') to.content = from.content;
  else {
    const parts = parsedBy(textParts, from.content, issues, ['content']);
    if (!parts) return z.NEVER;
    to.content = parts;
  }
  if (calls) to.tool_calls = calls;
  if (from.role === 'tool') {
    if (!from.tool_call_id) return fault(issues, 'is required on a message with role "tool"', 'tool_call_id');
    to.tool_call_id = from.tool_call_id;
  }
  if (from.name != null) to.name = from.name;
  return to;
});
