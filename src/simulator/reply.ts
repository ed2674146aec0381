import type { ChatRequest } from './chat-request.ts';
import { type Choice, finishChoice, type Segment } from './choice.ts';
import { type Directives, stripDirectives } from './directives.ts';
import type { SimulatorOptions } from './options.ts';
import { renderPrompt } from './prompt.ts';
import { Refusal } from './refusal.ts';
import { planAnswer, planReasoning } from './reply-text.ts';
import { hashText, saltSeed } from './seed.ts';
import { joinRuns, listRun, type TokenRun } from './token-run.ts';
import { countTokens } from './tokens.ts';
import { planToolCalls } from './tool-call.ts';

/** A reply that is fully planned before its first byte; the same for a stream and for a plain completion. */
export interface Reply {
  readonly choices: readonly Choice[];
  readonly prompt_tokens: number;
  /** Null: no `prompt_tokens_details`. */
  readonly cached_tokens: number | null;
  /** The key that carries separate reasoning; null when the server has no reasoning parser. */
  readonly reasoning_key: 'reasoning' | 'reasoning_content' | null;
  readonly show_reasoning: boolean;
}

/** Input for planning a reply; `body_text` is the request as it arrived, for `echo`. */
export interface ReplySource {
  readonly request: ChatRequest;
  readonly directives: Directives;
  readonly options: SimulatorOptions;
  readonly body_text: string;
}

/** Plans the reply; the same messages give the same text. Throws a Refusal when the context is too small for it. */
export function planReply(source: ReplySource): Reply {
  const { request, directives, options } = source;
  const prompt = renderPrompt(request);
  const prompt_tokens = countTokens(prompt);
  checkContext(prompt_tokens, request.max_tokens ?? 1, options.max_model_len);
  const seed = hashText(stripDirectives(prompt));
  const mode = directives.reasoning ?? options.reasoning;
  // Only an endless reply is not limited by the context.
  const room =
    directives.tokens === Number.POSITIVE_INFINITY
      ? directives.tokens
      : options.max_model_len - prompt_tokens;
  const limit = request.max_tokens ?? room;
  return {
    choices: Array.from({ length: request.n }, (_, index) =>
      planChoice(source, saltSeed(seed, index), limit),
    ),
    prompt_tokens,
    cached_tokens: options.cached_tokens === null ? null : Math.floor(prompt_tokens * options.cached_tokens),
    reasoning_key: mode === 'field' ? 'reasoning' : mode === 'reasoning_content' ? mode : null,
    show_reasoning: request.include_reasoning,
  };
}

function planChoice(source: ReplySource, seed: number, limit: number): Choice {
  const { request, directives } = source;
  const calls = planToolCalls(request, directives, seed);
  const reasoning = planReasoning(source, saltSeed(seed, 1));
  const answer = calls.length > 0 && directives.say === undefined ? listRun([]) : planAnswer(source, seed);
  const segments: Segment[] = [
    ...textSegments(directives.reasoning ?? source.options.reasoning, reasoning, answer),
    ...calls.map((call): Segment => ({ channel: 'tool', run: call.run, call })),
  ];
  const free = directives.echo === true;
  const choice = finishChoice(
    segments.filter(segment => segment.run.count > 0),
    free ? Number.POSITIVE_INFINITY : limit,
    free ? [] : request.stop,
  );
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
