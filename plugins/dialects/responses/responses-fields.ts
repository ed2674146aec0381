import { z } from 'zod';
import { arrayOf, requestFields } from '../../../src/plugin.ts';
import { type Item, item } from './input-items.ts';
import { toolChoice } from './tool-choice.ts';
import { toolList } from './tool-list.ts';

const {
  anyObject,
  byType,
  eachParsedBy,
  fault,
  message,
  checkStreamOptions,
  flag,
  isStringOrArray,
  nonEmptyText,
  notOffered,
  optionalText,
  present,
  seed,
  sharedFields,
  sharedParameters,
  text,
  tokens,
  topLogprobs,
} = requestFields;

/** The shape of a Responses request. Null is the same as absent. */

const input = z
  .custom<string | unknown[]>(isStringOrArray, 'must be a string or an array of items')
  .transform((given, issues): Item[] => {
    if (given.length === 0) return fault(issues, 'must not be empty.');
    if (typeof given === 'string') return [{ role: 'user', content: given }];
    return (eachParsedBy(item, given, issues) as Item[] | undefined) ?? z.NEVER;
  });

const wholeConversation = 'replies are not stored here; send the whole conversation as input';

/** A field of chat completions that has another name here; to ignore it would change what is generated. */
const otherName = (name: string) =>
  z
    .custom<null | undefined>(value => value == null, `is not a field of this endpoint; use ${name}.`)
    .nullish();

/** A field that is accepted and ignored, because it changes nothing in the reply. */
const ignored = z.unknown().optional();

/** Fields that change nothing but are repeated in the response. */
const repeated = {
  truncation: z.enum(['auto', 'disabled'], 'must be "auto" or "disabled"').nullish(),
  service_tier: optionalText,
  max_tool_calls: tokens,
  safety_identifier: optionalText,
};

const jsonSchemaFormat = z
  .object({ name: nonEmptyText, description: optionalText, strict: flag, schema: anyObject })
  .transform(({ name, ...rest }) => ({ type: 'json_schema', json_schema: { name, ...present(rest) } }));

const formats = {
  text: z.unknown().transform(() => undefined),
  json_object: z.unknown().transform(() => ({ type: 'json_object' })),
  json_schema: jsonSchemaFormat,
};

/** `text.format` as chat's `response_format`; plain text needs none. */
const format = byType<Record<string, unknown> | undefined>(
  formats,
  'must be one of: text, json_object, json_schema',
  'must be an object {type}',
).nullish();

/** A Responses request. */
export const responsesRequest = z
  .object({
    ...sharedFields,
    input: input.nullish(),
    messages: arrayOf(message, 'must be an array of messages', 'must have at least one message.').nullish(),
    instructions: optionalText,
    max_output_tokens: tokens,
    reasoning: z.object({ effort: optionalText }, 'must be an object {effort}').nullish(),
    tools: toolList,
    tool_choice: toolChoice,
    text: z.object({ format }, 'must be an object {format}').nullish(),
    ...sharedParameters,
    seed,
    top_logprobs: topLogprobs,
    include: arrayOf(text, 'must be an array of strings').nullish(),
    ...repeated,
    // Taken, since SDKs send it; the response says that nothing is stored.
    store: flag,
    prompt_cache_retention: ignored,
    max_tokens: otherName('max_output_tokens'),
    max_completion_tokens: otherName('max_output_tokens'),
    previous_response_id: notOffered(wholeConversation),
    conversation: notOffered(wholeConversation),
    prompt: notOffered('prompts are not stored here; send their text as input'),
    background: z
      .custom<boolean | null | undefined>(
        value => value == null || value === false,
        'is not offered: replies are not stored here; leave it out or send false.',
      )
      .nullish(),
  })
  .superRefine(checkStreamOptions)
  .superRefine(({ input, messages, reasoning_effort, reasoning }, issues) => {
    if (input == null && messages == null)
      return fault(issues, 'is required: a string or an array of items (or messages in its place).', 'input');
    if (input != null && messages != null)
      return fault(issues, 'must not be sent together with input; send one of the two.', 'messages');
    const effort = reasoning?.effort;
    if (reasoning_effort != null && effort != null && reasoning_effort !== effort)
      fault(issues, 'must not differ from reasoning.effort; send one of the two.', 'reasoning_effort');
  });

/** The fields of a Responses request. */
export type ResponsesFields = z.output<typeof responsesRequest>;
