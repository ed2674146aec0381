import { z } from 'zod';
import { isObject } from '../../../common/json-object.ts';
import type { ChatRequest } from '../../exchange/canonical.ts';

/** Fields of both generation endpoints. Null is the same as absent, so they are nullish. */

/** For fields with two forms. */
export const isStringOrArray = (value: unknown): boolean => typeof value === 'string' || Array.isArray(value);

/** Any object, by reference: nothing in it is copied, so keys such as `__proto__` do no harm. */
export const anyObject = z.custom<Record<string, unknown>>(isObject, 'must be an object');

/** What is said of a number below 1. */
export const atLeastOne = 'must be an integer of at least 1';

/** A number from `low` to `high`, inclusive. */
export const number = (low: number, high: number) => {
  const text = `must be a number from ${low} to ${high}`;
  return z.number(text).min(low, text).max(high, text).nullish();
};

/** An integer of at least 1. */
export const tokens = z.int(atLeastOne).min(1, atLeastOne).nullish();

/** True, false or absent. */
export const flag = z.boolean('must be true or false').nullish();

/** How many alternatives a client asks for at each token. */
export const topLogprobs = z
  .int('must be an integer from 0 to 20')
  .min(0, 'must be an integer from 0 to 20')
  .max(20, 'must be an integer from 0 to 20')
  .nullish();

/** An integer; larger ones have lost digits when JSON is parsed. */
export const seed = z.int('must be an integer from -9007199254740991 to 9007199254740991').nullish();

/** Any text. */
export const text = z.string('must be a string');

/** A text with at least one character. */
export const nonEmptyText = text.min(1, 'must not be empty');

/** A text, or absent. */
export const optionalText = text.nullish();

/** A field that needs stored replies or background work. Refused, since clients rely on its effect. */
export const notOffered = (text: string) =>
  z.custom<null | undefined>(value => value == null, `is not offered: ${text}.`).nullish();

/** Parameters of the OpenAI format that both endpoints forward under their own names. */
export const sharedParameters = {
  top_p: number(0, 1),
  presence_penalty: number(-2, 2),
  frequency_penalty: number(-2, 2),
  parallel_tool_calls: flag,
  user: optionalText,
  prompt_cache_key: optionalText,
};

/** Fields that both endpoints have, and the chain reads. */
export const sharedFields = {
  model: z
    .string('is required: a model id from GET /v1/models')
    .min(1, 'is required: a model id from GET /v1/models'),
  temperature: number(0, 2),
  stream: flag,
  stream_options: z
    .object({ continuous_usage_stats: flag, include_usage: flag }, 'must be an object')
    .nullish(),
  reasoning_effort: optionalText,
  reasoning_split: flag,
  metadata: anyObject.nullish(),
};

const sharedShape = z.object({ ...sharedFields, ...sharedParameters });
export type SharedFields = z.output<typeof sharedShape>;

/** Refuses stream options without a stream. For `superRefine`. */
export function checkStreamOptions(
  { stream, stream_options: options }: Pick<SharedFields, 'stream' | 'stream_options'>,
  issues: z.RefinementCtx,
): void {
  if (stream === true || !options || Object.values(options).every(value => value == null)) return;
  issues.addIssue({
    code: 'custom',
    path: ['stream_options'],
    message: 'is accepted only with "stream": true.',
  });
}

/** The canonical request with the shared fields. */
export function sharedRequest(from: SharedFields, messages: ChatRequest['messages']): ChatRequest {
  const request: ChatRequest = {
    model: from.model,
    messages,
    stream: from.stream ?? false,
    parameters: {},
    unknown: {},
  };
  for (const name in sharedParameters) {
    const value = from[name as keyof typeof sharedParameters];
    if (value != null) request.parameters[name] = value;
  }
  const { temperature, stream_options, reasoning_effort, reasoning_split, metadata } = from;
  return Object.assign(
    request,
    present({
      temperature,
      stream_options: stream_options && present(stream_options),
      reasoning_effort,
      reasoning_split,
      // `validation` checks that the values are strings.
      metadata: metadata as Record<string, string> | null | undefined,
    }),
  );
}

/** `fields` without those that are null or undefined. */
export function present<T extends object>(fields: T): { [K in keyof T]?: NonNullable<T[K]> } {
  const kept: { [K in keyof T]?: NonNullable<T[K]> } = {};
  // Runs for every message: lists of entries would cost ten times as much.
  for (const name in fields) {
    const value = fields[name];
    if (value != null) kept[name] = value;
  }
  return kept;
}
