import { z } from 'zod';
import { Refusal } from './error-body.ts';

const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const;

/** Fields in which clients send reasoning back. */
const REASONING_FIELDS = ['reasoning_content', 'reasoning', 'reasoning_details'] as const;

/** A message of the conversation, in whatever form it came. */
export interface PromptMessage {
  readonly role: string;
  /** Its text, and its calls as text. */
  readonly text: string;
  /** Addresses of its images. */
  readonly images: readonly string[];
  /** Number of its tool calls. */
  readonly calls: number;
  /** Fields in which it has reasoning. */
  readonly reasoning: readonly string[];
}

const choice_counts = 'must be an integer from 1 to 128.';
const boolean = z.boolean('must be a boolean.').nullish();
const tokenLimit = z
  .int('must be an integer.')
  .min(1, { error: ({ input }) => `must be at least 1, got ${input}.` })
  .nullish();

/** What a chat template prints of a message: its content and, for an assistant's turn, its calls. */
const textPart = z.object({ text: z.string() }).transform(part => part.text);
const content = z
  .union([z.string(), z.array(textPart.catch('')).transform(parts => parts.join(''))])
  .catch('');
const imagePart = z.object({ type: z.literal('image_url'), image_url: z.object({ url: z.string() }) });
const images = z
  .array(imagePart.transform(part => [part.image_url.url]).catch([]))
  .transform(urls => urls.flat())
  .catch([]);
const calls = z
  .array(
    z
      .object({ function: z.object({ name: z.unknown().optional(), arguments: z.unknown().optional() }) })
      .transform(call => `${call.function.name}(${call.function.arguments})`)
      .catch(''),
  )
  .catch([]);
const message = z
  .looseObject({ role: z.string('must be a string.'), tool_calls: calls }, 'must be an object with a role.')
  .transform(
    ({ role, tool_calls, ...fields }): PromptMessage => ({
      role,
      text: content.parse(fields.content) + tool_calls.join(''),
      images: images.parse(fields.content),
      calls: tool_calls.length,
      reasoning: REASONING_FIELDS.filter(name => isFilled(fields[name])),
    }),
  );

const isFilled = (value: unknown): boolean =>
  (typeof value === 'string' || Array.isArray(value)) && value.length > 0;

const tool = z
  .object(
    { function: z.object({ name: z.string(), parameters: z.unknown().optional() }) },
    'must have a function.',
  )
  .transform(offer => offer.function);

const toolChoice = z.union(
  [
    z.enum(['none', 'auto', 'required']),
    z.object({ function: z.object({ name: z.string() }) }).transform(choice => choice.function),
  ],
  'is invalid! Only named tools, "none", "auto" or "required" are supported.',
);

const schema = z.object(
  {
    model: z.string('must be a string.').nullish(),
    messages: z.array(message, 'must be an array.').min(1, 'must not be empty.'),
    stream: boolean,
    stream_options: z.record(z.string(), z.unknown(), 'must be an object.').nullish(),
    max_tokens: tokenLimit,
    max_completion_tokens: tokenLimit,
    temperature: z.number('must be a number.').min(0, 'must be non-negative.').nullish(),
    top_p: z.number('must be a number.').gt(0, 'must be in (0, 1].').max(1, 'must be in (0, 1].').nullish(),
    n: z.int(choice_counts).min(1, choice_counts).max(128, choice_counts).nullish(),
    stop: z
      .union([z.string(), z.array(z.string())], 'must be a string or an array of strings.')
      .transform(stop => [stop].flat())
      .refine(stop => !stop.includes(''), 'cannot contain an empty string.')
      .nullish(),
    tools: z.array(tool, 'must be an array.').min(1, 'must not be an empty array.').nullish(),
    tool_choice: toolChoice.nullish(),
    parallel_tool_calls: boolean,
    reasoning_effort: z.enum(EFFORTS, `must be one of ${EFFORTS.join(', ')}.`).nullish(),
    chat_template_kwargs: z.record(z.string(), z.unknown(), 'must be an object.').nullish(),
    include_reasoning: boolean,
  },
  'must be a JSON object.',
);

/** What a request asks for, in the terms of chat completions. */
export type ChatRequest = ReturnType<typeof readChatRequest>;
/** A function offered to the model. */
export type ToolFunction = ChatRequest['tools'][number];

/** Reads the parsed body of a request; throws a Refusal with vLLM's status and parameter name. */
export function readChatRequest(value: unknown) {
  const checked = schema.safeParse(value);
  if (!checked.success) throw refusalOf(checked.error);
  const body = checked.data;
  const stream_options = body.stream_options ?? {};
  if (Object.keys(stream_options).length > 0 && !body.stream)
    throw new Refusal(400, 'Stream options can only be defined when `stream=True`.', 'stream_options');
  const tools = body.tools ?? [];
  return {
    model: body.model ?? null,
    messages: body.messages,
    stream: body.stream ?? false,
    include_usage: stream_options.include_usage === true,
    continuous_usage_stats: stream_options.continuous_usage_stats === true,
    max_tokens: body.max_completion_tokens ?? body.max_tokens ?? null,
    n: body.n ?? 1,
    stop: body.stop ?? [],
    tools,
    tool_choice: toolChoiceOf(body.tool_choice, tools),
    parallel_tool_calls: body.parallel_tool_calls ?? true,
    reasoning_effort: body.reasoning_effort ?? null,
    enable_thinking: body.chat_template_kwargs?.enable_thinking !== false,
    include_reasoning: body.include_reasoning ?? true,
  };
}

/** The first mistake. */
function refusalOf({ issues: [issue] }: z.ZodError): Refusal {
  const { path, message: text } = issue!;
  const [name, ...rest] = path;
  if (name === undefined) return new Refusal(400, `The request body ${text}`);
  const place = rest.map(part => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`)).join('');
  return new Refusal(400, `${String(name)}${place} ${text}`, String(name));
}

/** `auto` when tools are offered without a choice. */
function toolChoiceOf(
  choice: z.output<typeof toolChoice> | null | undefined,
  tools: readonly { readonly name: string }[],
): z.output<typeof toolChoice> {
  if (choice === undefined || choice === null) return tools.length > 0 ? 'auto' : 'none';
  if (choice === 'none') return choice;
  if (tools.length === 0)
    throw new Refusal(400, 'When using `tool_choice`, `tools` must be set.', 'tool_choice');
  if (typeof choice === 'string' || tools.some(({ name }) => name === choice.name)) return choice;
  throw new Refusal(
    400,
    'The tool specified in `tool_choice` does not match any of the specified `tools`',
    'tool_choice',
  );
}

/** The conversation in a plain chat template, tools first; it adds about four tokens to each message's text. */
export function renderPrompt({ tools, messages }: ChatRequest): string {
  const offered = tools.length > 0 ? `<|tools|>\n${JSON.stringify(tools)}<|end|>\n` : '';
  const turns = messages.map(({ role, text }) => `<|${role}|>\n${text}<|end|>\n`);
  return `${offered}${turns.join('')}<|assistant|>\n`;
}

/** Number of the tool results since the last user message, those of one turn together: the step of a tool loop. */
export function stepOf(messages: ChatRequest['messages']): number {
  const begin = messages.findLastIndex(({ role }) => role === 'user') + 1;
  const roles = messages.slice(begin).map(({ role }) => role);
  return roles.filter((role, at) => role === 'tool' && roles[at - 1] !== 'tool').length;
}

/** Text of the last message of a role, or '' when there is none. */
export const lastText = (messages: ChatRequest['messages'], role: string): string =>
  messages.findLast(turn => turn.role === role)?.text ?? '';
