import { isObject, type Json } from '../../../common/json-object.ts';
import {
  type Chunk,
  type ChunkChoice,
  type Delta,
  max_choices,
  type StreamDecoder,
  type ToolCallDelta,
  type Usage,
} from '../../exchange/canonical.ts';
import type { SseEvent } from '../../sse/parse.ts';
import { eventObject } from '../http/decode-reply.ts';
import { jsonOf, messageOfErrorBody, statusInBody, UpstreamError } from '../http/upstream-error.ts';
import { atMost, max_tool_calls } from '../reply-bounds.ts';
import { finishOf } from './finish-reason.ts';
import {
  argumentsText,
  extraContentIn,
  extrasIn,
  indexIn,
  newCallId,
  type OpenAiReplyOptions,
  reasoningOf,
  stopSequenceIn,
  textsOf,
} from './openai-format.ts';
import { readUsage } from './openai-usage.ts';

/** How streams of servers of this format differ. */
export interface OpenAiStreamOptions extends OpenAiReplyOptions {
  /** The server's running usage counts each choice for itself. */
  readonly usagePerChoice?: boolean;
  /** The final usage, too, counts one choice only: the one that ended last. */
  readonly finalUsagePerChoice?: boolean;
  /** Finds the usage of an event; the default is its `usage`. */
  usageIn?(event: Json): unknown;
}

/** One OpenAI stream in the canonical form. */
export class OpenAiStreamDecoder implements StreamDecoder {
  readonly #options: OpenAiStreamOptions;
  /** Completion tokens by choice, where the server counts each choice for itself. */
  readonly #tokensByChoice = new Map<number, number>();
  /** Their sum, kept incrementally: an upstream may add a choice with every event. */
  #tokens = 0;
  readonly #open = new Set<number>();
  readonly #finished = new Set<number>();
  readonly #toolCalls = new Map<number, ToolCallIndexes>();
  #begun = false;
  /** The choice of the newest event that had one. */
  #last = 0;

  constructor(options: OpenAiStreamOptions = {}) {
    this.#options = options;
  }

  /** Decodes one event to chunks. Throws an UpstreamError for an error in the stream. */
  decode(event: SseEvent): Chunk[] {
    if (event.event === 'error') throw this.#error(event.data);
    const data = event.data.charCodeAt(0) === 123 ? event.data : event.data.trim();
    if (data === '[DONE]' || data === '') return [];
    const body = eventObject(data);
    if (body.error != null || body.type === 'error' || body.object === 'error') throw this.#error(data);
    return this.#chunk(body);
  }

  /** True once every choice that began has its finish reason. */
  get complete(): boolean {
    return this.#begun && this.#open.size === 0;
  }

  #error(data: string): UpstreamError {
    const status = this.#options.errorsHaveStatus ? statusInBody(jsonOf(data)) : undefined;
    return new UpstreamError(messageOfErrorBody(data) ?? data.slice(0, 500), status);
  }

  #chunk(body: Json): Chunk[] {
    const given: readonly unknown[] = Array.isArray(body.choices) ? body.choices : [];
    const only = given[0] as Json | null | undefined;
    // An array that is pushed to, or filtered, has room for 16 more.
    const choices =
      given.length === 1 && only?.delta
        ? [this.choice(only)]
        : atMost(given, max_choices, 'choices')
            .filter(isObject)
            .map(choice => this.choice(choice));
    const { usageIn } = this.#options;
    // Moonshot has it within the only choice of a stream.
    const isAlone = this.#open.size + this.#finished.size === 1;
    const inChoice = isAlone ? only?.usage : undefined;
    const told = usageIn ? usageIn(body) : (body.usage ?? inChoice);
    const usage = told ? this.#usage(told, choices) : undefined;
    if (choices.length === 0 && !usage) return [];
    return [usage ? { choices, usage } : { choices }];
  }

  /** Decodes a choice as it was sent. */
  protected choice(choice: Json): ChunkChoice {
    const index = choice.index === 0 ? 0 : (indexIn(choice.index) ?? 0);
    const finish = choice.finish_reason == null ? undefined : finishOf(choice.finish_reason);
    this.#begun = true;
    this.#last = index;
    // Some servers repeat an ended choice beside the final usage.
    if (finish) this.#finished.add(index);
    if (this.#finished.has(index)) this.#open.delete(index);
    else this.#open.add(index);
    const delta = choice.delta ? this.#delta(index, choice.delta as Json) : {};
    const decoded: ChunkChoice = { index, delta, finish_reason: null };
    if (finish) Object.assign(decoded, finish, stopSequenceIn(choice, this.#options));
    if (decoded.finish_reason === 'stop' && this.#toolCalls.has(index)) decoded.finish_reason = 'tool_calls';
    if (choice.logprobs != null) decoded.logprobs = choice.logprobs;
    return decoded;
  }

  /** Of anything but an object all fields are absent. */
  #delta(index: number, from: Json): Delta {
    const delta: Delta = {};
    if (typeof from.role === 'string') delta.role = 'assistant';
    const isReasoned = from.reasoning || from.reasoning_content || from.reasoning_details;
    const reasoning = isReasoned ? reasoningOf(from) : undefined;
    if (typeof from.content === 'string') delta.content = from.content;
    else if (Array.isArray(from.content)) Object.assign(delta, textsOf(from.content));
    if (reasoning !== undefined && reasoning !== '') delta.reasoning = reasoning;
    const calls = Array.isArray(from.tool_calls)
      ? atMost(from.tool_calls, max_tool_calls, 'tool calls').filter(isObject)
      : undefined;
    if (calls && calls.length > 0) {
      let indexes = this.#toolCalls.get(index);
      if (!indexes) this.#toolCalls.set(index, (indexes = new ToolCallIndexes()));
      delta.tool_calls = calls.map(call => ({
        ...indexes.delta(call),
        ...extraContentIn(call, this.#options),
      }));
    }
    if (typeof from.refusal === 'string') delta.refusal = from.refusal;
    if (from.annotations || from.images) Object.assign(delta, extrasIn(from));
    return delta;
  }

  #usage(value: unknown, choices: ChunkChoice[]): Usage | undefined {
    const usage = readUsage(value);
    const { usagePerChoice, finalUsagePerChoice } = this.#options;
    if (!usage || !usagePerChoice || (choices.length === 0 && !finalUsagePerChoice)) return usage;
    const indexes = choices.length === 0 ? [this.#last] : choices.map(({ index }) => index);
    for (const index of indexes) this.#setTokens(index, usage.completion_tokens);
    if (this.#tokensByChoice.size === 1 && !this.#lacksChoices(choices)) return usage;
    // The breakdown is of one choice, and would not add up.
    const { completion_tokens_details: _, ...rest } = usage;
    const completion_tokens = this.#tokens;
    const total_tokens = usage.prompt_tokens + completion_tokens;
    const counted = { ...rest, completion_tokens, total_tokens };
    return this.#lacksChoices(choices) ? { ...counted, is_partial: true } : counted;
  }

  /** Whether this is the final usage, and there are choices that were never counted. */
  #lacksChoices(choices: readonly ChunkChoice[]): boolean {
    return choices.length === 0 && this.#tokensByChoice.size < this.#open.size + this.#finished.size;
  }

  #setTokens(index: number, tokens: number): void {
    this.#tokens += tokens - (this.#tokensByChoice.get(index) ?? 0);
    this.#tokensByChoice.set(index, tokens);
  }
}

/** Adds the `index` and `id` that some servers leave out of tool call deltas. Counts calls from 0, as clients do; some servers begin with 1. */
class ToolCallIndexes {
  /** The index of a call by the server's own. */
  readonly #byPlace = new Map<number, number>();
  readonly #byId = new Map<string, number>();
  readonly #begun = new Set<number>();
  readonly #named = new Set<number>();
  #last = -1;

  delta(call: Json): ToolCallDelta {
    const id = typeof call.id === 'string' && call.id !== '' ? call.id : undefined;
    const called = isObject(call.function) ? call.function : {};
    const name = typeof called.name === 'string' && called.name !== '' ? called.name : undefined;
    const index = this.#dense(this.#placeOf(indexIn(call.index), id, name));
    const text = argumentsText(called.arguments);
    const isNew = name !== undefined && !this.#named.has(index);
    if (isNew) this.#named.add(index);
    if (this.#begun.has(index)) return { index, function: { ...(isNew && { name }), arguments: text } };
    this.#begun.add(index);
    return {
      index,
      id: id ?? newCallId(),
      type: 'function',
      function: { name: name ?? '', arguments: text },
    };
  }

  #dense(place: number): number {
    let index = this.#byPlace.get(place);
    if (index === undefined) this.#byPlace.set(place, (index = this.#byPlace.size));
    return index;
  }

  #placeOf(given: number | undefined, id: string | undefined, name: string | undefined): number {
    if (given !== undefined) return (this.#last = given);
    const known = id === undefined ? undefined : this.#byId.get(id);
    if (known !== undefined) return known;
    // Without an index, a name or a new id begins another call; anything else continues the last one.
    if (this.#last === -1 || id !== undefined || name !== undefined) this.#last++;
    if (id !== undefined) this.#byId.set(id, this.#last);
    return this.#last;
  }
}
