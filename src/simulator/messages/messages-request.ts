import { z } from 'zod';
import { Refusal } from '../error-body.ts';

const required = 'Field required';
const text = z.string(required);
const cache_control = z.looseObject({ type: z.literal('ephemeral') }).nullish();
const textBlock = z.strictObject({
  type: z.literal('text'),
  text: text.refine(words => words.trim() !== '', 'text content blocks must contain non-whitespace text'),
  citations: z.unknown().optional(),
  cache_control,
});
const imageBlock = z.strictObject({
  type: z.literal('image'),
  source: z.discriminatedUnion('type', [
    z.strictObject({
      type: z.literal('base64'),
      media_type: z.enum(['image/jpeg', 'image/png', 'image/gif', 'image/webp']),
      data: z.base64(),
    }),
    z.strictObject({ type: z.literal('url'), url: z.url() }),
  ]),
  cache_control,
});
const thinkingBlock = z.strictObject({ type: z.literal('thinking'), thinking: text, signature: text });
const redactedBlock = z.strictObject({ type: z.literal('redacted_thinking'), data: text });
const callBlock = z.strictObject({
  type: z.literal('tool_use'),
  id: text.regex(/^[a-zA-Z0-9_-]+$/, "String should match pattern '^[a-zA-Z0-9_-]+$'"),
  name: text,
  input: z.record(z.string(), z.unknown(), 'Input should be a valid dictionary'),
  cache_control,
});
const referenceBlock = z.strictObject({ type: z.literal('tool_reference'), tool_name: text, cache_control });
const inResult = z.discriminatedUnion('type', [textBlock, imageBlock, referenceBlock]);
const resultBlock = z.strictObject({
  type: z.literal('tool_result'),
  tool_use_id: text,
  content: z.union([z.string(), z.array(inResult)]).default([]),
  is_error: z.boolean().optional(),
  cache_control,
});
const block = z.discriminatedUnion('type', [
  textBlock,
  imageBlock,
  thinkingBlock,
  redactedBlock,
  callBlock,
  resultBlock,
]);

/** A block within the result of a tool. */
export type ResultBlock = z.output<typeof inResult>;

/** A content block of a request. */
export type Block = z.output<typeof block>;

const blocks = z
  .union([text.transform((words): Block[] => [{ type: 'text', text: words }]), z.array(block)])
  .refine(all => all.length > 0, 'all messages must have non-empty content');

const turn = z.strictObject({
  role: z.enum(['user', 'assistant'], "Input should be 'user' or 'assistant'"),
  content: blocks,
});
/** A message of a request. */
export type Turn = z.output<typeof turn>;

const tool = z.looseObject({ name: text, input_schema: z.unknown().optional() });
const parallel = { disable_parallel_tool_use: z.boolean().optional() };
const budget = z.int().min(1024, 'Input should be greater than or equal to 1024');
const display = z.enum(['summarized', 'omitted']).optional();

const schema = z.strictObject({
  model: text,
  messages: z.array(turn, required).min(1, 'at least one message is required'),
  max_tokens: z.int(required).min(1, 'Input should be greater than or equal to 1'),
  system: z.union([z.string(), z.array(textBlock)]).optional(),
  stream: z.boolean().optional(),
  temperature: z.number().min(0).max(1, 'Input should be less than or equal to 1').optional(),
  top_p: z.number().min(0).max(1).optional(),
  top_k: z.int().min(0).optional(),
  stop_sequences: z.array(text.regex(/\S/, 'each stop sequence must contain non-whitespace')).optional(),
  tools: z.array(tool).optional(),
  tool_choice: z
    .discriminatedUnion('type', [
      z.strictObject({ type: z.literal('auto'), ...parallel }),
      z.strictObject({ type: z.literal('any'), ...parallel }),
      z.strictObject({ type: z.literal('tool'), name: text, ...parallel }),
      z.strictObject({ type: z.literal('none') }),
    ])
    .optional(),
  thinking: z
    .discriminatedUnion('type', [
      z.strictObject({ type: z.literal('enabled'), budget_tokens: budget, display }),
      z.looseObject({ type: z.literal('adaptive'), display }),
      z.strictObject({ type: z.literal('disabled') }),
    ])
    .optional(),
  output_config: z
    .looseObject({ effort: z.enum(['low', 'medium', 'high', 'xhigh', 'max']).optional() })
    .optional(),
  metadata: z.strictObject({ user_id: z.string().nullish() }).optional(),
  service_tier: z.string().optional(),
  cache_control,
  context_management: z.unknown().optional(),
});

/** A request of `POST /v1/messages`. */
export type MessagesRequest = z.output<typeof schema>;

/** Reads and checks the body of a request. Throws a Refusal that names the field as Anthropic's API does. */
export function readMessages(body: unknown): MessagesRequest {
  const checked = schema.safeParse(body);
  if (!checked.success) throw refusalOf(checked.error.issues[0]!);
  const { messages, thinking, max_tokens, temperature = 1, tool_choice } = checked.data;
  checkCalls(messages);
  if (thinking?.type === 'enabled') {
    if (thinking.budget_tokens >= max_tokens)
      throw new Refusal(400, '`max_tokens` must be greater than `thinking.budget_tokens`.');
    if (temperature !== 1)
      throw new Refusal(400, '`temperature` may only be set to 1 when thinking is enabled.');
    if (tool_choice?.type === 'any' || tool_choice?.type === 'tool')
      throw new Refusal(400, 'Thinking may not be enabled when tool_choice forces tool use.');
  }
  return checked.data;
}

function refusalOf(issue: z.core.$ZodIssue): Refusal {
  if (issue.code === 'unrecognized_keys')
    return new Refusal(400, `${[...issue.path, issue.keys[0]].join('.')}: Extra inputs are not permitted`);
  // Of a union, the mistake in the list of blocks, which is what was meant.
  const inner = issue.code === 'invalid_union' ? issue.errors.at(-1)?.[0] : undefined;
  if (inner) return refusalOf({ ...inner, path: [...issue.path, ...inner.path] });
  return new Refusal(400, `${issue.path.join('.')}: ${issue.message}`);
}

const idsOf = (turn: Turn | undefined, type: 'tool_use' | 'tool_result'): string[] =>
  (turn?.content ?? []).flatMap(part =>
    part.type !== type ? [] : [part.type === 'tool_use' ? part.id : part.tool_use_id],
  );

/** Throws unless every call is answered in the next message, and every answer has its call in the one before. */
function checkCalls(turns: readonly Turn[]): void {
  for (const [at, turn] of turns.entries()) {
    const calls = turn.role === 'assistant' ? idsOf(turn, 'tool_use') : [];
    const answered = idsOf(turns[at + 1], 'tool_result');
    const open = calls.filter(id => !answered.includes(id));
    if (open.length > 0)
      throw new Refusal(
        400,
        `messages.${at}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${open.join(', ')}.`,
      );
    const asked = idsOf(turns[at - 1], 'tool_use');
    const stray = idsOf(turn, 'tool_result').find(id => !asked.includes(id));
    if (stray !== undefined)
      throw new Refusal(
        400,
        `messages.${at}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${stray}.`,
      );
  }
}
