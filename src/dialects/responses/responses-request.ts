import { z } from 'zod';
import type { ChatRequest, Message } from '../../canonical.ts';
import { isObject } from '../../json-object.ts';
import { arrayOf, eachParsedBy, fault, parseBody } from '../request-schema/first-fault.ts';
import { message } from '../request-schema/message.ts';
import {
  checkStreamOptions,
  isStringOrArray,
  optionalText,
  present,
  sharedFields,
  sharedParameters,
  sharedRequest,
  tokens,
  topLogprobs,
} from '../request-schema/shared-fields.ts';
import { setAsideStreamOptions, setAsideUnknown } from '../request-schema/unknown-fields.ts';
import { item } from './input-items.ts';
import { messagesOf } from './input-messages.ts';
import type { ReasoningPlacement } from './reasoning-placement.ts';
import type { ReplyForm } from './reply-form.ts';
import { functionTool, textField, toolChoice } from './responses-tools.ts';

/** The shape of a Responses request. Null is the same as absent. */

const input = z
  .custom<string | unknown[]>(isStringOrArray, 'must be a string or an array of items')
  .transform((given, issues): Message[] => {
    if (given.length === 0) return fault(issues, 'must not be empty');
    if (typeof given === 'string') return [{ role: 'user', content: given }];
    const items = eachParsedBy(item, given, issues);
    if (!items) return z.NEVER;
    const messages = messagesOf(items, issues);
    return messages.length > 0 ? messages : fault(issues, 'must have at least one message.');
  });

/** A field that needs stored replies or background work. Refused, since clients rely on its effect. */
const notOffered = (text: string) =>
  z.custom<null | undefined>(value => value == null, `is not offered: ${text}.`).nullish();
const wholeConversation = 'replies are not stored here; send the whole conversation as input';

/** A field that is accepted and ignored, because it changes nothing in the reply. */
const ignored = z.unknown().optional();

const responsesRequest = z
  .object({
    ...sharedFields,
    input: input.nullish(),
    messages: arrayOf(message, 'must be an array of messages', 'must have at least one message').nullish(),
    instructions: optionalText,
    max_output_tokens: tokens,
    reasoning: z.object({ effort: optionalText }, 'must be an object {effort}').nullish(),
    tools: arrayOf(functionTool, 'must be an array of tools').nullish(),
    tool_choice: toolChoice,
    text: textField,
    ...sharedParameters,
    top_logprobs: topLogprobs,
    include: ignored,
    store: ignored,
    truncation: ignored,
    service_tier: ignored,
    max_tool_calls: ignored,
    prompt_cache_retention: ignored,
    safety_identifier: ignored,
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

const knownFields: ReadonlySet<string> = new Set(Object.keys(responsesRequest.shape));
const knownInReasoning: ReadonlySet<string> = new Set(['effort']);
const knownInText: ReadonlySet<string> = new Set(['format']);

/** A Responses request in the canonical form. Throws `invalid_request` naming the first field at fault. */
export function parseResponsesRequest(
  body: Record<string, unknown>,
  placement: ReasoningPlacement,
): ChatRequest {
  const from = parseBody(responsesRequest, body);
  const { instructions, tools, max_output_tokens: max_tokens } = from;
  const messages = from.input ?? from.messages ?? [];
  if (instructions) messages.unshift({ role: 'system', content: instructions });
  const request = sharedRequest(from, messages);
  const reasoning_effort = from.reasoning_effort ?? from.reasoning?.effort;
  Object.assign(request, present({ reasoning_effort, max_tokens, tools }));
  Object.assign(request.parameters, parametersOf(from));
  setAsideUnknown(request, body, knownFields);
  setAsideStreamOptions(request, body);
  if (isObject(body.reasoning)) setAsideUnknown(request, body.reasoning, knownInReasoning, 'reasoning.');
  if (isObject(body.text)) setAsideUnknown(request, body.text, knownInText, 'text.');
  const kept: ReplyForm = { placement };
  request.client = { field_names: namesIn(from), ...(instructions && { echo: { instructions } }), kept };
  return request;
}

/** Parameters that are forwarded under chat's names. */
function parametersOf(from: z.output<typeof responsesRequest>): Record<string, unknown> {
  const logprobs = from.top_logprobs || includesLogprobs(from.include) ? true : undefined;
  const top_logprobs = logprobs && from.top_logprobs;
  const { tool_choice, text } = from;
  return present({ logprobs, top_logprobs, response_format: text?.format, tool_choice });
}

const includesLogprobs = (include: unknown): boolean =>
  Array.isArray(include) && include.includes('message.output_text.logprobs');

/** This format's names of fields that chat calls differently. */
function namesIn(from: z.output<typeof responsesRequest>): Record<string, string> {
  const isAlias = from.reasoning_effort == null && from.reasoning?.effort != null;
  return {
    max_tokens: 'max_output_tokens',
    response_format: 'text.format',
    ...(from.input != null && { messages: 'input' }),
    ...(isAlias && { reasoning_effort: 'reasoning.effort' }),
  };
}
