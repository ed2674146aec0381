import { markEvent } from '../../telemetry/tracing.ts';
import type { ChatRequest, Chunk, Completion, Usage } from '../exchange/canonical.ts';
import { imagesIn, textOf } from '../exchange/canonical.ts';
import type { Exchange } from '../exchange/exchange.ts';
import { type TokenCounter, TokenEstimator } from './token-estimator.ts';
import { boundedUsage, windowBounds } from './usage-bounds.ts';

/** Estimated tokens of `text`. */
export function estimateTokens(text: string): number {
  const estimator = new TokenEstimator();
  estimator.add(text);
  return estimator.tokens;
}

/** Servers count from 85 to about 1,500, by size and model; low, as every estimate that may be billed. */
const tokens_per_image = 85;

/** Estimated prompt tokens as the upstream will count them: text, tools, images, and four for the frame of each message. */
export function estimatePrompt(
  { messages, tools }: ChatRequest,
  estimator: TokenCounter = new TokenEstimator(),
): number {
  let unread = 0;
  for (const message of messages) {
    // A space costs nothing and keeps the last word of one message apart from the first of the next.
    estimator.add(` ${textOf(message.content)}`);
    unread += tokens_per_image * imagesIn(message.content) + (message.tokens?.length ?? 0);
    if (message.tool_calls) estimator.add(JSON.stringify(message.tool_calls));
  }
  if (tools?.length) estimator.add(JSON.stringify(tools));
  return estimator.tokens + 4 * messages.length + unread;
}

function hasText({ choices }: Chunk): boolean {
  return choices.some(({ delta }) => delta.content || delta.reasoning || delta.tool_calls?.length);
}

/** The parts of a message or delta that are generated text. */
interface Counted {
  readonly reasoning?: string;
  readonly content?: string | null;
  readonly tool_calls?: readonly { index?: number; function?: { name?: string; arguments?: string } }[];
}

/** One run of text and its tokens so far. */
interface Run {
  readonly counter: TokenCounter;
  tokens: number;
}

/**
 * The running usage of one exchange: the upstream's own figure where there is one, else an estimate. The upstream's figure replaces an
 * estimate that was above it; what clients see never decreases, which `outbound/stream-shape.ts` does. Reasoning, text and tool arguments
 * count alike.
 */
export class UsageMeter {
  /** The estimate divided by the upstream's final figure; undefined unless both exist. */
  error_ratio: number | undefined;
  /** The first of the upstream's figures that cannot be, and was bounded by the context window. */
  impossible: Usage | undefined;
  /** True once a chunk has come. */
  protected hasBegun = false;
  protected readonly exchange: Exchange;
  readonly #newCounter: () => TokenCounter;
  /** The most tokens that were asked for: a running value must not exceed the final one. */
  readonly #most: number;
  /** One for each run of text, whose words must not join: by the choice's index its text, `-1 - index` its reasoning, by name its calls. */
  #runs: Map<number | string, Run> | undefined;
  /** Sum of all counters, kept incrementally: an upstream may begin a run with every chunk. */
  #counted = 0;
  /** True if text has arrived since the upstream last reported usage. */
  #uncounted = false;
  /** The upstream's last figure; the estimate adds to it. */
  #told = 0;
  /** The estimator's count at the upstream's last figure. */
  #base = 0;

  constructor(exchange: Exchange, newCounter: () => TokenCounter = () => new TokenEstimator()) {
    this.exchange = exchange;
    this.#newCounter = newCounter;
    const { max_tokens = Infinity, n = 1 } = exchange.request;
    this.#most = max_tokens * n;
  }

  /** Sets what is known before the first chunk, without the upstream. */
  begin(): void {
    const { request, usage } = this.exchange;
    if (request.stream && request.stream_options?.continuous_usage_stats)
      usage.prompt_tokens = estimatePrompt(request, this.#newCounter());
  }

  chunk(chunk: Chunk): void {
    this.hasBegun = true;
    const exchange = this.exchange;
    if (exchange.first_token_ms === undefined && hasText(chunk)) {
      exchange.first_token_ms = exchange.clock.elapsed_ms();
      markEvent(exchange.span, 'first_token');
    }
    if (chunk.usage && this.#isWhole(chunk.usage)) {
      this.#tell(chunk.usage);
      return;
    }
    for (let at = 0; at < chunk.choices.length; at++) {
      const { index, delta } = chunk.choices[at]!;
      this.#count(index, delta);
    }
    if (chunk.usage) this.#tellSome(chunk.usage);
    if (!this.#uncounted) return;
    const { usage } = exchange;
    usage.estimated = true;
    const estimate = Math.min(this.#told + this.#counted - this.#base, this.#most);
    usage.completion_tokens = Math.max(usage.completion_tokens, estimate);
  }

  reply({ choices, usage }: Completion): void {
    if (usage && this.#isWhole(usage)) return this.#tell(usage);
    for (const { index, message } of choices) this.#count(index, message);
    if (usage) this.#tellSome(usage);
    const { usage: running } = this.exchange;
    running.completion_tokens = Math.max(running.completion_tokens, Math.min(this.#counted, this.#most));
  }

  /**
   * Ends the count, however the exchange ended. A prompt without the upstream's figure is estimated if the reply had `begun`, or if the
   * upstream was cancelled while it worked because its client had left or been answered 524. Nothing is billed for an upstream that
   * `failed` by itself.
   */
  finish(begun: boolean, failed = false): void {
    const { usage, request, client_gone, end_reason, attempts } = this.exchange;
    // The figure of a stage that has answered counts as it is; of an upstream, 0 is none.
    if (attempts.length === 0 && !usage.estimated) return;
    // Between two attempts no upstream is working.
    const last = attempts.at(-1);
    const atWork = last !== undefined && last.outcome !== 'failed' && !failed;
    const givenUp = atWork && (client_gone || end_reason === 'time_limit');
    if (begun || givenUp) usage.prompt_tokens ||= estimatePrompt(request, this.#newCounter());
    else usage.prompt_tokens = 0;
  }

  #count(index: number, { reasoning, content, tool_calls }: Counted): void {
    if (reasoning) this.#add(-1 - index, reasoning);
    if (content) this.#add(index, content);
    if (!tool_calls) return;
    for (const [at, call] of tool_calls.entries()) {
      const { name = '', arguments: text = '' } = call.function ?? {};
      this.#add(`${index} call ${call.index ?? at}`, name + text);
    }
  }

  #add(key: number | string, text: string): void {
    this.#runs ??= new Map();
    let run = this.#runs.get(key);
    if (!run) this.#runs.set(key, (run = { counter: this.#newCounter(), tokens: 0 }));
    run.counter.add(text);
    const { tokens } = run.counter;
    this.#counted += tokens - run.tokens;
    run.tokens = tokens;
    this.#uncounted = true;
  }

  /** Whether the figures cover what was generated. An upstream that counts 0 has not counted; a stage that has answered may. */
  #isWhole({ is_partial, completion_tokens }: Usage): boolean {
    return !is_partial && (completion_tokens > 0 || this.exchange.attempts.length === 0);
  }

  /** Takes figures that are partial, or without a completion: those are whole if there was no text. */
  #tellSome(told: Usage): void {
    if (told.is_partial || this.#counted > 0) this.#tellPartly(told);
    else this.#tell(told);
  }

  /** Takes partial figures: those of the prompt are exact, those of the completion its least. */
  #tellPartly(given: Usage): void {
    const told = this.#tellPrompt(given);
    const { usage } = this.exchange;
    usage.completion_tokens = Math.max(usage.completion_tokens, told.completion_tokens);
    usage.estimated = true;
  }

  #tell(given: Usage): void {
    const told = this.#tellPrompt(given);
    const { usage } = this.exchange;
    if (this.#uncounted && told.completion_tokens > 0) {
      this.error_ratio = usage.completion_tokens / told.completion_tokens;
    }
    usage.completion_tokens = told.completion_tokens;
    usage.completion_details = told.completion_tokens_details;
    usage.estimated = false;
    this.#told = told.completion_tokens;
    this.#base = this.#counted;
    this.#uncounted = false;
  }

  /** Takes the prompt's figures and returns all, bounded. They can be counted: adapters and stages that answer are checked for it. */
  #tellPrompt(given: Usage): Usage {
    const { usage, model, request } = this.exchange;
    const prompts = request.operation === undefined ? 1 : request.messages.length;
    const told = boundedUsage(given, windowBounds(model, request.n ?? 1, prompts));
    if (told !== given) this.impossible ??= given;
    const { cached_tokens, cache_creation_tokens } = told.prompt_tokens_details;
    usage.prompt_tokens = told.prompt_tokens;
    usage.cached_tokens = cached_tokens;
    usage.cache_creation_tokens = cache_creation_tokens;
    return told;
  }
}
