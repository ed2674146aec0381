import { decimal, integer, list, nullable, oneOf, text, type ValueKind } from './value-kind.ts';

/** Where reasoning goes: its own key, `<think>` tags, tags without the opening one, or there is none. */
export const REASONING_MODES = ['field', 'reasoning_content', 'tags', 'implicit', 'none'] as const;
export type ReasoningMode = (typeof REASONING_MODES)[number];

/** Which usage is sent: all that vLLM sends, never `continuous_usage_stats`, or none at all. */
export const USAGE_MODES = ['vllm', 'final', 'none'] as const;
export type UsageMode = (typeof USAGE_MODES)[number];

/** Everything about a simulated server that can be chosen. */
export interface SimulatorOptions {
  readonly host: string;
  /** 0 takes a free port. */
  readonly port: number;
  /** Served model names; empty serves any name. */
  readonly models: readonly string[];
  readonly api_key: string | null;
  readonly max_model_len: number;
  readonly reasoning: ReasoningMode;
  readonly usage: UsageMode;
  /** Fraction of the prompt reported as cached; null leaves the details out. */
  readonly cached_tokens: number | null;
  /** Time to the first token, milliseconds. */
  readonly ttft_ms: number;
  /** Per stream; 0 is as fast as the client reads. */
  readonly tokens_per_second: number;
  readonly tokens_per_chunk: number;
  /** Fraction of chat requests that fail, chosen by `seed` and the number of the request. */
  readonly fail_rate: number;
  /** What happens to those: directives, written as between `[[sim:` and `]]`. */
  readonly fail: string | null;
  readonly seed: number;
  /** How many of the last requests are kept for inspection. */
  readonly recorded_requests: number;
}

interface OptionEntry<T> {
  readonly initial: T;
  readonly kind: ValueKind<T>;
  readonly help: string;
}

/** The one table behind option checks, command line flags (`_` becomes `-`) and `--help`. */
export const OPTIONS: { readonly [K in keyof SimulatorOptions]: OptionEntry<SimulatorOptions[K]> } = {
  host: { initial: '127.0.0.1', kind: text('ADDRESS'), help: 'Address to listen on.' },
  port: { initial: 0, kind: integer(0, 65535), help: 'Port to listen on; 0 takes a free one.' },
  models: {
    initial: [],
    kind: list('A,B,…'),
    help: 'Served model names; any other name is answered 404. Not set: any name is served.',
  },
  api_key: {
    initial: null,
    kind: nullable(text('KEY')),
    help: 'Key that /v1 paths ask for (Authorization: Bearer KEY).',
  },
  max_model_len: {
    initial: 262_144,
    kind: integer(1, Number.MAX_SAFE_INTEGER),
    help: 'Context length in tokens; a longer prompt plus max_tokens is answered 400.',
  },
  reasoning: {
    initial: 'field',
    kind: oneOf(REASONING_MODES),
    help: 'Reasoning in `reasoning`, in the older `reasoning_content`, in <think> tags, in tags without the opening one, or none.',
  },
  usage: {
    initial: 'vllm',
    kind: oneOf(USAGE_MODES),
    help: 'Usage as vLLM sends it, without continuous_usage_stats, or never.',
  },
  cached_tokens: {
    initial: null,
    kind: nullable(decimal(0, 1, 'FRACTION')),
    help: 'Part of the prompt reported as cached_tokens. Not set: prompt_tokens_details is null.',
  },
  ttft_ms: {
    initial: 0,
    kind: decimal(0, Number.MAX_VALUE, 'MS'),
    help: 'Time to the first token, milliseconds.',
  },
  tokens_per_second: {
    initial: 0,
    kind: decimal(0, Number.MAX_VALUE, 'N'),
    help: 'Speed of each reply; 0 is as fast as the client reads.',
  },
  tokens_per_chunk: {
    initial: 1,
    kind: integer(1, Number.MAX_SAFE_INTEGER),
    help: 'Tokens per streamed chunk, as with speculative decoding.',
  },
  fail_rate: {
    initial: 0,
    kind: decimal(0, 1, 'FRACTION'),
    help: 'Part of the chat requests that fail, chosen by seed and request number.',
  },
  fail: {
    initial: null,
    kind: nullable(text('DIRECTIVES')),
    help: 'What happens to them, e.g. "status=429 retry_after=3" or "reset=5". Not set: status=503.',
  },
  seed: {
    initial: 1,
    kind: integer(0, 0xffff_ffff),
    help: 'Which requests fail.',
  },
  recorded_requests: {
    initial: 100,
    kind: integer(0, 100_000),
    help: 'How many of the last requests the program that started the server can look at.',
  },
};

/** Names of all options, in the order of the table. */
export const OPTION_NAMES = Object.keys(OPTIONS) as (keyof SimulatorOptions)[];

/** Completes options from `base` or the table; throws an Error that names the option which is unknown or wrong. */
export function resolveOptions(
  given: Partial<SimulatorOptions>,
  base: SimulatorOptions = initialOptions(),
): SimulatorOptions {
  for (const [name, value] of Object.entries(given)) {
    if (!isOptionName(name)) {
      throw new Error(`Unknown simulator option '${name}'; accepted: ${OPTION_NAMES.join(', ')}.`);
    }
    const { kind } = OPTIONS[name];
    if (value !== undefined && !kind.accepts(value)) throw new Error(`${name} must be ${kind.expects}.`);
  }
  const resolved = { ...base, ...withoutUndefined(given) };
  if ((given.fail ?? null) !== null && resolved.fail_rate === 0) {
    throw new Error('fail has no effect while fail_rate is 0; set fail_rate as well.');
  }
  return resolved;
}

/** True for the name of an option. */
export function isOptionName(name: string): name is keyof SimulatorOptions {
  return Object.hasOwn(OPTIONS, name);
}

function initialOptions(): SimulatorOptions {
  const entries = OPTION_NAMES.map(name => [name, OPTIONS[name].initial]);
  return Object.fromEntries(entries) as SimulatorOptions;
}

function withoutUndefined(given: Partial<SimulatorOptions>): Partial<SimulatorOptions> {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}
