import {
  type Charge,
  type ChatRequest,
  type LimitSet,
  type Model,
  nanoUsdOf,
  type Outcome,
} from '../../../src/plugin.ts';
import type { UsageAverage } from './usage-forecast.ts';

/** Tokens per character of English, per further UTF-8 byte of a character, and per message. */
const tokens_per_character = 0.23;
const tokens_per_further_byte = 0.2;
const tokens_per_message = 4;
/** Servers count from 85 to about 1,500, by size; upstream counts correct it. */
const tokens_per_image = 765;

/**
 * Rough estimate of the prompt's tokens, from its characters and its bytes, which distinguish English from Chinese. Takes a hundredth of
 * the time of an estimate by words; upstream counts correct it, by account and model.
 */
export function estimatePromptTokens({ messages, tools }: ChatRequest): number {
  let tokens = tokens_per_message * messages.length;
  for (const { content, tool_calls } of messages) {
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

/**
 * Expected usage of an exchange: its prompt, and a completion of recent length. `max_tokens` is a ceiling: it caps the estimate and is
 * never reserved itself.
 */
export function expectedUse(
  { countsTokens, countsMoney }: Pick<LimitSet, 'countsTokens' | 'countsMoney'>,
  estimated_prompt: number,
  { request, model, average }: Expected,
): Charge {
  if (!countsTokens && !countsMoney) return { requests: 1, tokens: 0, nano_usd: 0 };
  const prompt = Math.ceil(estimated_prompt * average.prompt_ratio);
  const cap = Math.min(
    request.max_tokens ?? Number.POSITIVE_INFINITY,
    model?.max_completion_tokens ?? Number.POSITIVE_INFINITY,
  );
  const completion = Math.min(average.completion, cap) * (request.n ?? 1);
  const nano_usd = countsMoney && model ? priceOf(model, prompt, completion) : 0;
  return { requests: 1, tokens: prompt + completion, nano_usd };
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
  return {
    requests: failed && tokens === 0 ? 0 : 1,
    tokens,
    nano_usd: countsMoney ? (nanoUsdOf(cost_usd) ?? 0) : 0,
  };
}

function priceOf({ pricing }: Model, prompt: number, completion: number): number {
  return Math.ceil((Number(pricing.prompt) * prompt + Number(pricing.completion) * completion) * 1e9);
}
