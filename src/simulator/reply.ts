import { type ChatRequest, renderPrompt } from './chat-request.ts';
import { type Choice, finishChoice, type Segment, type Tally } from './choice.ts';
import { stripDirectives } from './directives.ts';
import { Refusal } from './error-body.ts';
import type { SimulatorOptions } from './options.ts';
import { planAnswer, planReasoning } from './reply-text.ts';
import { hashText, saltSeed } from './seed.ts';
import type { Source } from './source.ts';
import { countTokens, joinRuns, listRun, type TokenRun } from './tokens.ts';
import { planToolCalls } from './tool-call.ts';

/** What every image adds to the prompt. */
const IMAGE_TOKENS = 85;

/** A reply that is fully planned before its first byte; the same for a stream and for a plain completion. */
export interface Reply extends Source {
  readonly choices: readonly Choice[];
  /** Tokens of all choices. */
  readonly total: Tally;
  readonly prompt_tokens: number;
  /** The key that carries separate reasoning; null when the server has no reasoning parser. */
  readonly reasoning_key: 'reasoning' | 'reasoning_content' | null;
}

/** Plans the reply; the same messages give the same text. Throws a Refusal when the context is too small for it. */
export function planReply(source: Source): Reply {
  const { request, directives, options } = source;
  const prompt = renderPrompt(request);
  const prompt_tokens = promptTokens(request, prompt);
  checkContext(prompt_tokens, request.max_tokens ?? 1, options.max_model_len);
  const seed = hashText(stripDirectives(prompt));
  const mode = options.reasoning;
  // Only an endless reply is not limited by the context.
  const room =
    directives.tokens === Number.POSITIVE_INFINITY
      ? directives.tokens
      : options.max_model_len - prompt_tokens;
  const limit = request.max_tokens ?? room;
  const choices = Array.from({ length: request.n }, (_, index) =>
    planChoice(source, saltSeed(seed, index), limit),
  );
  const total = {
    completion: choices.reduce((sum, { tally }) => sum + tally.completion, 0),
    reasoning: choices.reduce((sum, { tally }) => sum + tally.reasoning, 0),
  };
  const reasoning_key = mode === 'field' ? 'reasoning' : mode === 'reasoning_content' ? mode : null;
  return { ...source, choices, total, prompt_tokens, reasoning_key };
}

/** Tokens of a prompt, its images included. */
export function promptTokens(request: ChatRequest, prompt = renderPrompt(request)): number {
  const images = request.messages.reduce((sum, message) => sum + message.images.length, 0);
  return countTokens(prompt) + images * IMAGE_TOKENS;
}

function planChoice(source: Source, seed: number, limit: number): Choice {
  const { request, directives, options } = source;
  const calls = planToolCalls(request, directives, seed);
  const reasoning = planReasoning(source, saltSeed(seed, 1));
  const answer = calls.length > 0 && directives.say === undefined ? listRun([]) : planAnswer(source, seed);
  const segments: Segment[] = [
    ...textSegments(options.reasoning, reasoning, answer),
    ...calls.map((call): Segment => ({ channel: 'tool', run: call.run, call })),
  ];
  const choice = directives.echo
    ? finishChoice(segments, Number.POSITIVE_INFINITY, [])
    : finishChoice(segments, limit, request.stop);
  return directives.finish === undefined ? choice : { ...choice, finish_reason: directives.finish };
}

function textSegments(mode: SimulatorOptions['reasoning'], reasoning: TokenRun, answer: TokenRun): Segment[] {
  if (mode === 'none' || reasoning.count === 0) return [{ channel: 'content', run: answer }];
  if (mode === 'field' || mode === 'reasoning_content') {
    return [
      { channel: 'reasoning', run: reasoning },
      { channel: 'content', run: answer },
    ];
  }
  const opening = listRun(mode === 'tags' ? ['<think>', '\n'] : []);
  const closing = listRun(['\n', '</think>', '\n\n']);
  return [{ channel: 'content', run: joinRuns([opening, reasoning, closing, answer]) }];
}

function checkContext(prompt_tokens: number, max_tokens: number, max_model_len: number): void {
  if (prompt_tokens + max_tokens <= max_model_len) return;
  throw new Refusal(
    400,
    `This model's maximum context length is ${max_model_len} tokens. However, you requested ${max_tokens} output ` +
      `tokens and your prompt contains ${prompt_tokens} input tokens. Please reduce the length of the input prompt ` +
      'or the number of requested output tokens.',
    'input_tokens',
  );
}

/** `usage` of a reply; unknown details are left out as in vLLM's streams, or `null` as in its plain completions. */
export function usageOf(reply: Reply, { completion, reasoning }: Tally, unknown?: null): object {
  const { prompt_tokens, reasoning_key, options } = reply;
  const cached_tokens = Math.floor(prompt_tokens * (options.cached_tokens ?? 0));
  return {
    prompt_tokens,
    total_tokens: prompt_tokens + completion,
    completion_tokens: completion,
    prompt_tokens_details: options.cached_tokens === null ? unknown : { cached_tokens },
    completion_tokens_details: reasoning_key === null ? unknown : { reasoning_tokens: reasoning },
  };
}
