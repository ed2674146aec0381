import { decimal, integer, list, oneOf, text, type ValueKind } from './value-kind.ts';

/** Place of reasoning: its own key, `<think>` tags, tags without the opening one, or none. */
const REASONING_MODES = ['field', 'reasoning_content', 'tags', 'implicit', 'none'] as const;

/** Usage that is sent: all that vLLM sends, never `continuous_usage_stats`, or none at all. */
const USAGE_MODES = ['vllm', 'final', 'none'] as const;

/** Reasoning that must come back with the assistant's tool calls, by its field; `any` of them, or none. */
const RETURNED_REASONING = ['none', 'reasoning_content', 'reasoning', 'reasoning_details', 'any'] as const;

/** Whether signatures of thinking are ignored, checked, or checked and demanded while a tool loop goes on. */
const SIGNATURE_MODES = ['ignored', 'checked', 'demanded'] as const;

/** `initial` is accepted whatever its kind; `null` stands for "not set". */
interface OptionEntry<T, Initial> {
  readonly initial: Initial;
  readonly kind: ValueKind<T>;
  readonly help: string;
}

const option = <T, const Initial extends NoInfer<T> | null>(
  initial: Initial,
  kind: ValueKind<T>,
  help: string,
): OptionEntry<T, Initial> => ({ initial, kind, help });

/** The one table behind the options' type and checks, command line flags (`_` becomes `-`) and `--help`. */
export const OPTIONS = {
  host: option('127.0.0.1', text('ADDRESS'), 'Address to listen on.'),
  port: option(0, integer(0, 65535), 'Port to listen on; 0 takes a free one.'),
  models: option(
    [],
    list('A,B,…'),
    'Served model names; any other name is answered 404. Not set: any name is served.',
  ),
  api_key: option(null, text('KEY'), 'Key that /v1 paths ask for (Authorization: Bearer KEY, or x-api-key).'),
  max_model_len: option(
    262_144,
    integer(1),
    'Context length in tokens; a longer prompt plus max_tokens is answered 400.',
  ),
  reasoning: option(
    'field',
    oneOf(REASONING_MODES),
    'Reasoning in `reasoning`, in the older `reasoning_content`, in <think> tags, in tags without the opening one, or none.',
  ),
  require_reasoning: option(
    'none',
    oneOf(RETURNED_REASONING),
    "Field in which the reasoning of an assistant's tool calls must come back; without it a request is answered 400, as by DeepSeek.",
  ),
  require_signatures: option(
    'checked',
    oneOf(SIGNATURE_MODES),
    "What is done with signatures of thinking on /v1/messages: nothing, checked, or also demanded as by Anthropic's models.",
  ),
  images: option(
    'accepted',
    oneOf(['accepted', 'refused']),
    'Whether the model takes images; each counts as 85 tokens.',
  ),
  usage: option(
    'vllm',
    oneOf(USAGE_MODES),
    'Usage as vLLM sends it, without continuous_usage_stats, or never.',
  ),
  cached_tokens: option(
    null,
    decimal('FRACTION', 1),
    'Part of the prompt reported as cached_tokens. Not set: prompt_tokens_details is null.',
  ),
  cache_creation: option(
    0,
    decimal('FRACTION', 1),
    'Part of the prompt reported as cache_creation_input_tokens on /v1/messages.',
  ),
  ttft_ms: option(0, decimal('MS'), 'Time to the first token, milliseconds.'),
  tokens_per_second: option(0, decimal('N'), 'Speed of each reply; 0 is as fast as the client reads.'),
  tokens_per_chunk: option(1, integer(1), 'Tokens per streamed chunk, as with speculative decoding.'),
  fail_rate: option(
    0,
    decimal('FRACTION', 1),
    'Part of the chat requests that fail, chosen by seed and request number.',
  ),
  fail: option(
    null,
    text('DIRECTIVES'),
    'What happens to them, e.g. "status=429 retry_after=3" or "reset=5". Not set: status=503.',
  ),
  seed: option(1, integer(0, 0xffff_ffff), 'Which requests fail.'),
  recorded_requests: option(
    100,
    integer(0, 100_000),
    'How many of the last requests the program that started the server can look at.',
  ),
};

/** All options of a simulated server. */
export type SimulatorOptions = {
  readonly [K in keyof typeof OPTIONS]: (typeof OPTIONS)[K] extends OptionEntry<infer T, infer Initial>
    ? T | (Initial & null)
    : never;
};

/** Names of all options, in the order of the table. */
export const OPTION_NAMES = Object.keys(OPTIONS) as (keyof SimulatorOptions)[];

/** Completes options from `base` or the table; throws an Error that names the option which is unknown or wrong. */
export function resolveOptions(
  given: Partial<SimulatorOptions>,
  base: SimulatorOptions = initialOptions(),
): SimulatorOptions {
  const set = Object.entries(given).filter(([, value]) => value !== undefined);
  for (const [name, value] of Object.entries(given)) {
    if (!Object.hasOwn(OPTIONS, name))
      throw new Error(`Unknown simulator option '${name}'; accepted: ${OPTION_NAMES.join(', ')}.`);
    const { initial, kind } = OPTIONS[name as keyof SimulatorOptions];
    if (value !== undefined && value !== initial && !kind.accepts(value))
      throw new Error(`${name} must be ${kind.expects}.`);
  }
  const resolved = { ...base, ...Object.fromEntries(set) };
  if ((given.fail ?? null) !== null && resolved.fail_rate === 0)
    throw new Error('fail has no effect while fail_rate is 0; set fail_rate as well.');
  return resolved;
}

const initialOptions = (): SimulatorOptions =>
  Object.fromEntries(OPTION_NAMES.map(name => [name, OPTIONS[name].initial])) as unknown as SimulatorOptions;
