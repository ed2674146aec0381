import { z } from 'zod';
import type { Difference } from '../difference.ts';

const text = z.string();
const count = z.int().min(0);
/** An array with one element at a greater index takes long to walk through. */
const index = count.max(65_535);
const finish_reason = z.enum(['stop', 'length', 'tool_calls', 'content_filter']);
const reasoning_details = z.array(z.looseObject({ type: text })).optional();

const usage = z
  .looseObject({
    prompt_tokens: count,
    completion_tokens: count,
    prompt_tokens_details: z.looseObject({ cached_tokens: count }),
    completion_tokens_details: z.record(text, z.number()).nullish(),
  })
  .refine(all => all.total_tokens === all.prompt_tokens + all.completion_tokens, {
    path: ['total_tokens'],
    error: 'the sum of prompt_tokens and completion_tokens',
  })
  .optional();

const callDelta = z.looseObject({
  index,
  id: text.min(1).optional(),
  function: z.looseObject({ name: text.optional(), arguments: text.optional() }).nullish(),
});
const delta = z.looseObject({
  content: text.nullish(),
  reasoning: text.optional(),
  refusal: text.nullish(),
  reasoning_details,
  tool_calls: z.array(callDelta).optional(),
});
const chunk = z.looseObject({
  choices: z.array(z.looseObject({ index, delta, finish_reason: finish_reason.nullable() })),
  usage,
});

const call = z.looseObject({
  id: text.min(1),
  type: z.literal('function'),
  function: z.looseObject({ name: text, arguments: text }),
});
const message = z
  .looseObject({
    role: z.literal('assistant'),
    content: text.nullable(),
    reasoning: text.optional(),
    refusal: text.nullish(),
    reasoning_details,
    tool_calls: z.array(call).min(1).optional(),
  })
  .refine(({ content, tool_calls }) => content !== null || tool_calls !== undefined, {
    path: ['content'],
    error: 'text, or null beside tool_calls',
  });
const reply = z.looseObject({
  choices: z.array(z.looseObject({ index, message, finish_reason })).min(1),
  usage,
});

const faultBy =
  (schema: z.ZodType) =>
  (value: unknown): Difference | undefined => {
    const issue = schema.safeParse(value, { reportInput: true }).error?.issues[0];
    if (!issue) return undefined;
    const name = issue.path.findLast(part => typeof part === 'string') ?? 'the whole';
    return { what: `${name} (${issue.path.join('.')})`, expected: issue.message, got: issue.input };
  };

/** Where a chunk is not canonical. */
export const chunkFault = faultBy(chunk);

/** Where a whole reply is not canonical. */
export const replyFault = faultBy(reply);
