import { z } from 'zod';
import type { Message, Tool, ToolCall } from '../canonical.ts';

/**
 * The shape of a chat completion request (spec 2.2, 4.3; protocol m1 to m11). Messages say what is accepted. Null is the same as
 * absent (m6), so every optional field is nullish.
 */

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** An object taken as it is, by reference: nothing in it is copied, so no key of it can do harm (m15). */
const anyObject = z.custom<Record<string, unknown>>(isObject, 'must be an object');

const textPart = z.object(
  {
    type: z.literal('text', 'must be "text"; other content is not accepted'),
    text: z.string('must be a string'),
  },
  'must be an object {type: "text", text}',
);

const textParts = z
  .array(textPart, 'must be a string or an array of {type: "text", text} parts')
  .min(1, 'must not be empty');

const toolCall: z.ZodType<ToolCall> = z.object(
  {
    id: z.string('must be a string').min(1, 'must not be empty'),
    type: z.literal('function', 'must be "function"'),
    function: z.object(
      {
        name: z.string('must be a string').min(1, 'must not be empty'),
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
    tool_calls: z.array(toolCall, 'must be an array').nullish(),
    tool_call_id: z.string('must be a string').nullish(),
    name: z.string('must be a string').nullish(),
  },
  'must be an object {role, content}',
);

export const message = messageShape.transform((from, issues): Message => {
  const fault = (path: string, text: string) => {
    issues.addIssue({ code: 'custom', path: [path], message: text });
    return z.NEVER;
  };
  const to: Message = { role: from.role === 'developer' ? 'system' : from.role };
  const calls = from.role === 'assistant' && from.tool_calls?.length ? from.tool_calls : undefined;
  if (from.content == null) {
    if (!calls) return fault('content', 'must be a string or an array of {type: "text", text} parts');
    to.content = null;
  } else if (typeof from.content === 'string') to.content = from.content;
  else {
    // Not in the schema above: a union would hide which part is at fault.
    const parsed = textParts.safeParse(from.content);
    if (!parsed.success) {
      for (const issue of parsed.error.issues) {
        issues.addIssue({ code: 'custom', path: ['content', ...issue.path], message: issue.message });
      }
      return z.NEVER;
    }
    to.content = parsed.data;
  }
  if (calls) to.tool_calls = calls;
  if (from.role === 'tool') {
    if (!from.tool_call_id) return fault('tool_call_id', 'is required on a message with role "tool"');
    to.tool_call_id = from.tool_call_id;
  }
  if (from.name != null) to.name = from.name;
  return to;
});

const tool = z.custom<Tool>(
  value =>
    isObject(value) &&
    value.type === 'function' &&
    isObject(value.function) &&
    typeof value.function.name === 'string' &&
    value.function.name !== '',
  'must be an object {type: "function", function: {name, description, parameters}}',
);

const atLeastOne = 'must be an integer of at least 1';
const number = (low: number, high: number) => {
  const text = `must be a number from ${low} to ${high}`;
  return z.number(text).min(low, text).max(high, text).nullish();
};

const tokens = z.int(atLeastOne).min(1, atLeastOne).nullish();
const flag = z.boolean('must be true or false').nullish();

const stop = z
  .custom<string | string[]>(
    value => (Array.isArray(value) ? value : [value]).every(text => typeof text === 'string' && text !== ''),
    'must be an array of non-empty strings',
  )
  .transform(value => (typeof value === 'string' ? [value] : value))
  .nullish();

/** Fields of the OpenAI format that go upstream as they are (m5); their values are checked loosely, the upstream judges. */
export const forwardedParameters = {
  top_p: number(0, 1),
  // Beyond this a JSON number has lost digits before anyone could look at it (m15).
  seed: z.int('must be an integer from -9007199254740991 to 9007199254740991').nullish(),
  presence_penalty: number(-2, 2),
  frequency_penalty: number(-2, 2),
  logit_bias: anyObject.nullish(),
  logprobs: flag,
  top_logprobs: z
    .int('must be an integer from 0 to 20')
    .min(0, 'must be an integer from 0 to 20')
    .max(20, 'must be an integer from 0 to 20')
    .nullish(),
  response_format: anyObject.nullish(),
  tool_choice: z
    .custom<string | Record<string, unknown>>(
      value => typeof value === 'string' || isObject(value),
      'must be a string or an object',
    )
    .nullish(),
  parallel_tool_calls: flag,
  user: z.string('must be a string').nullish(),
};

/** Fields that both generation endpoints share (spec 4.2 to 4.4). */
export const sharedFields = {
  model: z
    .string('is required: a model id from GET /v1/models')
    .min(1, 'is required: a model id from GET /v1/models'),
  temperature: number(0, 2),
  stream: flag,
  stream_options: z
    .object({ continuous_usage_stats: flag, include_usage: flag }, 'must be an object')
    .nullish(),
  reasoning_effort: z.string('must be a string').nullish(),
  reasoning_split: flag,
  metadata: anyObject.nullish(),
};

export const chatRequest = z
  .object({
    ...sharedFields,
    messages: z.array(message, 'is required: an array of messages').min(1, 'must have at least one message'),
    max_tokens: tokens,
    max_completion_tokens: tokens,
    stop,
    tools: z.array(tool, 'must be an array of tools').nullish(),
    n: z.int(atLeastOne).min(1, atLeastOne).nullish(),
    ...forwardedParameters,
  })
  .superRefine((request, issues) => {
    const options = request.stream_options;
    if (request.stream !== true && options && Object.values(options).some(value => value != null)) {
      issues.addIssue({
        code: 'custom',
        path: ['stream_options'],
        message: 'is accepted only with "stream": true',
      });
    }
  });

export type ParsedChatRequest = z.output<typeof chatRequest>;
