import {
  type Charge,
  type ChatRequest,
  type Limit,
  type LimitSet,
  type LimitStatus,
  type Model,
  nanoUsdOf,
  type Outcome,
  rowOf,
  type UnreadUse,
} from '../../../src/plugin.ts';
import type { UsageAverage } from './usage-forecast.ts';

/** Tokens per character of English, per further UTF-8 byte of a character, and per message. */
const tokens_per_character = 0.23;
const tokens_per_further_byte = 0.2;
const tokens_per_message = 4;
/** Servers count from 85 to about 1,500, by size; upstream counts correct it. */
const tokens_per_image = 765;

/** What is reserved of a prompt under a hard limit: so many times its estimate, and tokens of the chat template on top. */
const prompt_margin = 2;
const template_tokens = 64;

/**
 * Rough estimate of the prompt's tokens, from its characters and its bytes, which distinguish English from Chinese. Takes a hundredth of
 * the time of an estimate by words; upstream counts correct it, by account and model.
 */
export function estimatePromptTokens({ messages, tools }: ChatRequest): number {
  let tokens = tokens_per_message * messages.length;
  for (let at = 0; at < messages.length; at++) {
    const { content, tool_calls, tokens: ids } = messages[at]!;
    if (ids) tokens += ids.length;
    if (typeof content === 'string') tokens += roughTokens(content);
    else
      for (const part of content ?? [])
        tokens += part.type === 'text' ? roughTokens(part.text) : tokens_per_image;
    if (tool_calls) tokens += roughTokens(JSON.stringify(tool_calls));
  }
  return Math.ceil(tools?.length ? tokens + roughTokens(JSON.stringify(tools)) : tokens);
}

function roughTokens(text: string): number {
  const further_bytes = Buffer.byteLength(text) - text.length;
  return text.length * tokens_per_character + further_bytes * tokens_per_further_byte;
}

interface Expected {
  readonly request: ChatRequest;
  readonly model: Model | undefined;
  readonly average: UsageAverage;
}

/** What an exchange can use at most, tokens of the prompt apart from those of all its choices. */
export interface MostUse {
  readonly prompt: number;
  /** Of one choice. */
  readonly completion: number;
  readonly choices: number;
}

/**
 * Expected usage of an exchange: its prompt, and a completion of recent length, which `max_tokens` caps. With `most`, what hard limits
 * reserve as well.
 */
export function expectedUse(
  { countsTokens, countsMoney }: Pick<LimitSet, 'countsTokens' | 'countsMoney'>,
  estimated_prompt: number,
  { request, model, average }: Expected,
  most?: MostUse,
): Charge {
  if (!countsTokens && !countsMoney) return { requests: 1, tokens: 0, nano_usd: 0 };
  const prompt = Math.ceil(estimated_prompt * average.prompt_ratio);
  const completion = Math.min(average.completion, capOf(request, model)) * (request.n ?? 1);
  const nano_usd = countsMoney && model ? priceOf(model, prompt, completion) : 0;
  return {
    requests: 1,
    tokens: prompt + completion,
    nano_usd,
    ...(most && { ceiling: ceilingOf(most, model) }),
  };
}

/**
 * The most that an exchange can use: `max_tokens` or else the model's maximum for each choice, and the prompt with a margin for what its
 * estimate may be too low by.
 */
export function mostUse(estimated_prompt: number, { request, model, average }: Expected): MostUse {
  const prompt =
    Math.ceil(estimated_prompt * Math.max(prompt_margin, average.prompt_ratio)) + template_tokens;
  const cap = capOf(request, model);
  // Each input of another operation may fill the window, a chat fills it once.
  const windows = request.operation ? request.messages.length : 1;
  return {
    prompt: Math.min(prompt, model ? model.context_length * windows : prompt),
    // A model outside the catalog has no known maximum, and no price.
    completion: Number.isFinite(cap) ? cap : average.completion,
    choices: request.n ?? 1,
  };
}

/** The model that costs as much as any of these: each of its prices and bounds is the highest. */
export function dearestOf(models: readonly [Model, ...Model[]]): Model {
  const most = (of: (model: Model) => number) => Math.max(...models.map(of));
  const dearest = (of: (pricing: Model['pricing']) => string | undefined) =>
    String(models.map(({ pricing }) => of(pricing) ?? '0').toSorted((a, b) => Number(b) - Number(a))[0]);
  const [first] = models;
  return {
    ...first,
    context_length: most(model => model.context_length),
    max_completion_tokens: most(model => model.max_completion_tokens),
    pricing: {
      prompt: dearest(({ prompt }) => prompt),
      completion: dearest(({ completion }) => completion),
      input_cache_write: dearest(({ prompt, input_cache_write = prompt }) => input_cache_write),
      request: dearest(({ request }) => request),
    },
  };
}

/** The largest `max_tokens` with which an exchange would fit into what is left of a hard limit; not above 0 if none would. */
export function fittingMaxTokens(
  limit: Limit,
  remaining: number,
  { prompt, completion, choices }: MostUse,
  model: Model | undefined,
): number {
  const ofPrompt = ceilingOf({ prompt, completion: 0, choices }, model);
  const isMoney = rowOf(limit).unit === 'nano_usd';
  const left = remaining - (isMoney ? ofPrompt.nano_usd : ofPrompt.tokens);
  const of_token = isMoney ? Number(model?.pricing.completion ?? 0) * 1e9 : 1;
  // Completions may be free.
  return Math.min(completion, Math.floor(left / (of_token * choices)));
}

function ceilingOf({ prompt, completion, choices }: MostUse, model: Model | undefined) {
  const tokens = prompt + completion * choices;
  if (!model) return { tokens, nano_usd: 0 };
  const { pricing } = model;
  const { prompt: read, input_cache_write: write = read } = pricing;
  // All of the prompt may be written to the provider's cache, at a price of its own. Rounded once: more is never priced as less.
  const dearest = Number(write) > Number(read) ? { ...model, pricing: { ...pricing, prompt: write } } : model;
  return { tokens, nano_usd: priceOf(dearest, prompt, completion * choices) };
}

const capOf = ({ max_tokens }: ChatRequest, model: Model | undefined): number =>
  Math.min(max_tokens ?? Number.POSITIVE_INFINITY, model?.max_completion_tokens ?? Number.POSITIVE_INFINITY);

/**
 * What hard limits reserve of a call that is passed on unread: the most that it may use, or all that is left of them, so that one call at
 * least can run. Above 0: nothing left admits none.
 */
export function withinLeft(most: UnreadUse, statuses: readonly LimitStatus[]): UnreadUse {
  const left = { ...most };
  for (const { limit, remaining } of statuses) {
    const { unit } = rowOf(limit);
    if (limit.hard && (unit === 'tokens' || unit === 'nano_usd'))
      left[unit] = Math.min(left[unit], remaining);
  }
  return { tokens: Math.max(1, left.tokens), nano_usd: Math.max(1, left.nano_usd) };
}

/** Errors not caused by the client: the upstream's, the gateway's own, and those of its configuration. */
const foreignErrors: ReadonlySet<string | undefined> = new Set([
  'provider_error',
  'server_error',
  'configuration_error',
]);

/**
 * Actual usage of an ended exchange. It counts as one request even if it was refused for its content or its client left; as none if it
 * failed for the gateway's or the upstream's reasons and nothing is billed.
 */
export function actualUse({ countsMoney }: Pick<LimitSet, 'countsMoney'>, outcome: Outcome): Charge {
  const { usage, status, error_type, cost_usd } = outcome;
  const tokens = usage.prompt_tokens + usage.completion_tokens;
  const failed = foreignErrors.has(error_type) || (status >= 500 && status !== 524);
  // A connection that has switched protocols: what comes over it counts for itself.
  const isSwitch = status === 101;
  return {
    requests: isSwitch || (failed && tokens === 0) ? 0 : 1,
    tokens,
    nano_usd: countsMoney ? (nanoUsdOf(cost_usd) ?? 0) : 0,
  };
}

/** Less than the smallest part of a price, and more than the error of floating-point numbers in sums of thousands of dollars. */
const rounding_nano_usd = 0.0005;

function priceOf({ pricing }: Model, prompt: number, completion: number): number {
  const { prompt: input, completion: output, request = 0 } = pricing;
  const exact = (Number(input) * prompt + Number(output) * completion + Number(request)) * 1e9;
  // Sums such as 0.2 + 0.09 are a little above the decimal that is meant.
  return Math.ceil(exact - rounding_nano_usd);
}
