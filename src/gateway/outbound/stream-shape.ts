import { type Chunk, type ChunkChoice, type Delta, type Usage, usageOf } from '../exchange/canonical.ts';
import { refusal } from '../exchange/errors.ts';
import type { Exchange } from '../exchange/exchange.ts';
import type { ChunkSink } from '../exchange/stream.ts';
import { shownUsage } from './reply-shape.ts';

/**
 * What the protocol promises of every stream, whatever stages are configured: the role chunk first, text without
 * roles, the finish chunk last and with the usage, usage on every chunk where the client asked for it and on no other, no chunk without
 * choices.
 */
export class StreamShape implements ChunkSink {
  readonly #exchange: Exchange;
  readonly #next: ChunkSink;
  readonly #continuous: boolean;
  /** Choices with their role chunk sent. */
  readonly #begun = new Set<number>();
  /** Choices with their finish chunk sent. */
  readonly #ended = new Set<number>();
  /** The newest chunk with a finish reason. Held back: the last chunk carries the usage, and only the end shows which one is last. */
  #finish: ChunkChoice | undefined;
  #failed = false;
  /** The running usage shown last. */
  #shown = usageOf(0, 0);

  constructor(exchange: Exchange, next: ChunkSink) {
    this.#exchange = exchange;
    this.#next = next;
    this.#continuous = exchange.request.stream_options?.continuous_usage_stats === true;
  }

  /** Writes a chunk. A value that is not a chunk, or cannot be rendered, fails the stream. */
  chunk(chunk: Chunk): void {
    if (this.#failed) return;
    const { choices, usage } = chunk;
    try {
      if (!this.#isPlain(choices)) for (const choice of choices) this.#shape(choice);
      else if (this.#continuous || usage) this.#send(choices, this.#running());
      else this.#next.chunk(chunk);
    } catch (thrown) {
      this.#refused(thrown);
    }
  }

  flush(): boolean {
    return this.#next.flush();
  }

  end(): void {
    if (this.#failed) return;
    if (this.#begun.size === 0) return this.#next.fail(nothingLeft());
    try {
      this.#sendFinish(shownUsage(this.#exchange));
    } catch (thrown) {
      return this.#refused(thrown);
    }
    this.#next.end();
  }

  /** Fails the stream, as what a renderer throws does: at the finish chunk too, which is written at the end. */
  #refused(thrown: unknown): void {
    this.#failed = true;
    this.#next.fail(thrown);
  }

  /** Fails the stream. The finish chunk that is held back is dropped: a client would take what precedes it for the whole answer. */
  fail(fault: unknown): void {
    if (!this.#failed) this.#next.fail(fault);
  }

  /** Whether a chunk is the most frequent kind: one more text of a choice that has begun and has not ended. */
  #isPlain(choices: readonly ChunkChoice[]): boolean {
    if (choices.length !== 1 || this.#finish) return false;
    const { index, delta, finish_reason } = choices[0]!;
    if (finish_reason !== null || delta.role !== undefined || !this.#begun.has(index)) return false;
    const { content, reasoning, reasoning_details, tool_calls, refusal } = delta;
    if (tool_calls !== undefined || refusal !== undefined || reasoning_details !== undefined) return false;
    // One of reasoning and content, not empty.
    return content ? reasoning === undefined : content === undefined && !!reasoning;
  }

  #shape(choice: ChunkChoice): void {
    const { index, finish_reason } = choice;
    const delta = withoutEmpty(choice.delta);
    const says = delta !== undefined || choice.logprobs != null;
    const ends = finish_reason !== null && !this.#ended.has(index);
    // Some servers repeat a choice beside the usage; it adds nothing.
    if (!says && !ends && this.#begun.has(index)) return;
    if (this.#finish && this.#finish.index !== index) this.#sendFinish(this.#running());
    if (!this.#begun.has(index)) this.#sendRole(index);
    const { stop_sequence, native_finish_reason: _, ...piece } = choice;
    if (says) this.#send([{ ...piece, delta: delta ?? {}, finish_reason: null }], this.#running());
    if (ends)
      this.#finish = {
        index,
        delta: {},
        finish_reason,
        ...(stop_sequence !== undefined && { stop_sequence }),
      };
  }

  #sendFinish(usage: Usage | undefined): void {
    const finish = this.#finish;
    if (!finish) return;
    this.#finish = undefined;
    this.#ended.add(finish.index);
    this.#send([finish], usage);
  }

  #sendRole(index: number): void {
    const isFirst = this.#begun.size === 0;
    this.#begun.add(index);
    const running = this.#running();
    const usage = running && isFirst ? usageOf(running.prompt_tokens, 0) : running;
    this.#send([{ index, delta: { role: 'assistant', content: '' }, finish_reason: null }], usage);
  }

  /**
   * Running usage for one chunk: the same four keys in every chunk, never decreasing, since an estimate may have been above the
   * upstream's figure. The last chunk has the true figure and the upstream's own breakdown.
   */
  #running(): Usage | undefined {
    if (!this.#continuous) return undefined;
    const { prompt_tokens, completion_tokens, cached_tokens, cache_creation_tokens } = this.#exchange.usage;
    this.#shown = usageOf(
      Math.max(this.#shown.prompt_tokens, prompt_tokens),
      Math.max(this.#shown.completion_tokens, completion_tokens),
      Math.max(this.#shown.prompt_tokens_details.cached_tokens, cached_tokens),
      undefined,
      cache_creation_tokens,
    );
    return this.#shown;
  }

  #send(choices: ChunkChoice[], usage: Usage | undefined): void {
    this.#next.chunk(usage ? { choices, usage } : { choices });
  }
}

/** Sources fail by themselves when nothing comes of them. */
const nothingLeft = () =>
  refusal('server_error', { cause: new Error('the stages have left nothing of the stream') });

/** What a delta may say, in the order in which it is shown. */
const said: readonly Exclude<keyof Delta, 'role'>[] = [
  'reasoning',
  'reasoning_details',
  'native',
  'content',
  'tool_calls',
  'refusal',
  'annotations',
  'images',
];

/** The delta without its role and without what is empty, or `undefined` if nothing is left. */
function withoutEmpty(delta: Delta): Delta | undefined {
  let left: Delta | undefined;
  for (const name of said) if (delta[name]?.length) (left ??= {})[name] = delta[name] as never;
  return left;
}
