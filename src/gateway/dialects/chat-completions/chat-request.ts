import { z } from 'zod';
import { isObject } from '../../../common/json-object.ts';
import { max_choices, type Tool } from '../../exchange/canonical.ts';
import { cacheControl } from '../request-schema/cache-control.ts';
import { arrayOf, type PlainFields, parsedBy } from '../request-schema/first-fault.ts';
import { message, plainMessage, plainMessages } from '../request-schema/message.ts';
import {
  anyObject,
  atLeastOne,
  checkStreamOptions,
  flag,
  present,
  seed,
  sharedFields,
  sharedParameters,
  tokens,
  topLogprobs,
} from '../request-schema/shared-fields.ts';
import { checkToolChoice, responseFormat, toolChoice } from './choice-fields.ts';

/** The shape of a chat completion request. */

const isTool = (value: unknown): boolean =>
  isObject(value) &&
  value.type === 'function' &&
  isObject(value.function) &&
  typeof value.function.name === 'string' &&
  value.function.name !== '';

const tool = z
  .custom<Tool>(isTool, 'must be an object {type: "function", function: {name, description, parameters}}')
  .transform((given, issues): Tool => {
    if (given.cache_control == null) return given;
    const cache_control = parsedBy(cacheControl, given.cache_control, issues, ['cache_control']);
    return { ...given, ...present({ cache_control }) };
  });

/** Fields that change the form of the answer, so that they cannot be left out silently. */
const notOffered = (reason: string, isDefault: (value: unknown) => boolean = () => false) =>
  z.custom<unknown>(value => value == null || isDefault(value), `is not offered; ${reason}.`).nullish();

const isEmpty = (value: unknown): boolean => Array.isArray(value) && value.length === 0;
const isTextOnly = (value: unknown): boolean =>
  Array.isArray(value) && value.length === 1 && value[0] === 'text';

const stop = z
  .custom<string | string[]>(
    value => (Array.isArray(value) ? value : [value]).every(text => typeof text === 'string' && text !== ''),
    'must be an array of non-empty strings',
  )
  .transform(value => (typeof value === 'string' ? [value] : value))
  .nullish();

const plainText = (given: unknown) => (typeof given === 'string' && given !== '' ? given : undefined);
const plainCount = (given: unknown) =>
  Number.isSafeInteger(given) && (given as number) > 0 ? given : undefined;
const isPlainTool = (given: unknown): boolean => isTool(given) && (given as Tool).cache_control == null;

/** What most requests have, as the schema below has it. */
export const plainFields: PlainFields = {
  model: plainText,
  messages: plainMessages,
  stream: given => (typeof given === 'boolean' ? given : undefined),
  stream_options: (given, { stream }) => (stream === true ? plainStreamOptions(given) : undefined),
  temperature: given => (typeof given === 'number' && given >= 0 && given <= 2 ? given : undefined),
  max_tokens: plainCount,
  max_completion_tokens: plainCount,
  reasoning_effort: plainText,
  tools: given => (Array.isArray(given) && given.every(isPlainTool) ? [...given] : undefined),
  // One that names a tool is checked with the tools.
  tool_choice: given => (given === 'auto' || given === 'none' ? given : undefined),
  metadata: given => (isObject(given) ? given : undefined),
};

function plainStreamOptions(given: unknown): object | undefined {
  if (!isObject(given)) return undefined;
  const { include_usage, continuous_usage_stats } = given;
  const areFlags = [include_usage, continuous_usage_stats].every(
    flag => flag === undefined || typeof flag === 'boolean',
  );
  return areFlags ? present({ continuous_usage_stats, include_usage }) : undefined;
}

/** Fields of the OpenAI format that are forwarded unchanged; the upstream checks their values further. */
export const forwardedParameters = {
  ...sharedParameters,
  seed,
  logit_bias: anyObject.nullish(),
  logprobs: flag,
  top_logprobs: topLogprobs,
  response_format: responseFormat,
  tool_choice: toolChoice,
  web_search_options: anyObject.nullish(),
};

export const chatRequest = z
  .object({
    ...sharedFields,
    messages: arrayOf(
      message,
      'is required: an array of messages',
      'must have at least one message.',
      plainMessage,
    ),
    max_tokens: tokens,
    max_completion_tokens: tokens,
    stop,
    tools: arrayOf(tool, 'must be an array of tools').nullish(),
    n: z.int(atLeastOne).min(1, atLeastOne).max(max_choices, `must be at most ${max_choices}`).nullish(),
    ...forwardedParameters,
    functions: notOffered('use tools', isEmpty),
    function_call: notOffered('use tool_choice'),
    audio: notOffered('answers are text'),
    modalities: notOffered('answers are text: leave it out or send ["text"]', isTextOnly),
  })
  .superRefine(checkStreamOptions)
  .superRefine(checkToolChoice);
