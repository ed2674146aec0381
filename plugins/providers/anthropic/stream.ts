import {
  type Chunk,
  type Delta,
  eventObject,
  finishOf,
  isObject,
  type Json,
  max_parts,
  type NativeItem,
  newCallId,
  refusal,
  type SseEvent,
  type StreamDecoder,
  type ToolCall,
  UpstreamError,
} from '../../../src/plugin.ts';
import { type Block, isBlock, native_format, textOf } from './blocks.ts';
import { outlined, type ThinkingMemory } from './history.ts';
import { detailOf } from './reasoning-details.ts';
import { RunningUsage } from './usage.ts';
import { annotationsOf, isServerBlock } from './web-search.ts';

/** Joins blocks of thinking, which are one text for the client. */
const thinking_separator = '\n';

/** An open block: its content so far; of text, which may be long, only the length. */
interface OpenBlock {
  readonly block: Json & { readonly type: string };
  characters: number;
  /** Characters of the answer before it, and where it cites from. */
  readonly from: number;
  readonly citations: Json[];
  /** Input of one of the API's own tools so far, as JSON. */
  input: string;
  /** Its tool call, if any, with the index among the calls. */
  readonly call?: ToolCall & { readonly index: number };
}

/** Decodes one stream of the Messages API. Ignores unknown kinds of events and deltas. */
export class AnthropicStream implements StreamDecoder {
  complete = false;
  done = false;
  readonly #memory: ThinkingMemory;
  readonly #usage = new RunningUsage();
  readonly #blocks = new Map<number, OpenBlock>();
  readonly #calls: ToolCall[] = [];
  /** Characters of the answer so far. */
  #answered = 0;
  #hasThought = false;
  /** Number of signed or encrypted blocks of thinking. */
  #details = 0;
  /** Separator for a block of thinking that follows another. */
  #separator = '';

  constructor(memory: ThinkingMemory) {
    this.#memory = memory;
  }

  decode({ data, event: name }: SseEvent): Chunk[] {
    if (data.trim() === '') return [];
    const event = eventObject(data);
    if (name === 'error' || event.type === 'error')
      throw UpstreamError.in(event) ?? new UpstreamError(data.slice(0, 500));
    return this.chunksOf(event);
  }

  /** Decodes one event that is not an error. */
  chunksOf(event: Json): Chunk[] {
    switch (event.type) {
      case 'content_block_delta':
        return this.#delta(event);
      case 'content_block_start':
        return this.#start(event);
      case 'content_block_stop':
        return this.#stop(event);
      case 'message_start':
        return this.#begin(event);
      case 'message_delta':
        return this.#end(event);
      case 'message_stop':
        this.done = true;
        return [];
      default:
        return [];
    }
  }

  #begin({ message }: Json): Chunk[] {
    const usage = isObject(message) ? this.#usage.seen(message.usage) : undefined;
    return [{ ...chunkOf({ role: 'assistant', content: '' }), ...(usage && { usage }) }];
  }

  #start({ index, content_block: block }: Json): Chunk[] {
    if (!isBlock(block)) return [];
    const open: OpenBlock = {
      block: { ...block },
      characters: textOf(block.text).length,
      from: this.#answered,
      citations: Array.isArray(block.citations) ? block.citations.filter(isObject) : [],
      input: '',
      ...(block.type === 'tool_use' && { call: this.#callOf(block) }),
    };
    this.#blocks.set(Number(index), open);
    if (this.#blocks.size > max_parts)
      throw refusal('provider_invalid', { cause: new Error(`a message of more than ${max_parts} blocks`) });
    switch (block.type) {
      case 'text':
        return this.#said(block.text);
      case 'thinking':
        if (this.#hasThought) this.#separator = thinking_separator;
        return this.#thought(block.thinking);
      case 'tool_use':
        return [chunkOf({ tool_calls: [{ ...open.call!, function: { ...open.call!.function } }] })];
      default:
        return [];
    }
  }

  #delta({ index, delta }: Json): Chunk[] {
    const open = this.#blocks.get(Number(index));
    if (!open || !isObject(delta)) return [];
    const { block, call } = open;
    switch (delta.type) {
      case 'text_delta':
        open.characters += textOf(delta.text).length;
        return this.#said(delta.text);
      case 'citations_delta':
        if (isObject(delta.citation) && open.citations.length < max_parts)
          open.citations.push(delta.citation);
        return [];
      case 'thinking_delta':
        block.thinking = textOf(block.thinking) + textOf(delta.thinking);
        return this.#thought(delta.thinking);
      case 'signature_delta':
        block.signature = textOf(block.signature) + textOf(delta.signature);
        return [];
      case 'input_json_delta':
        if (call) return argued(call, textOf(delta.partial_json));
        open.input += textOf(delta.partial_json);
        return [];
      default:
        return [];
    }
  }

  #stop({ index }: Json): Chunk[] {
    const open = this.#blocks.get(Number(index));
    if (!open) return [];
    const { block, call } = open;
    // Clients parse arguments: a call that came without argument deltas gets its block's `input`.
    if (call?.function.arguments === '')
      return argued(call, JSON.stringify(isObject(block.input) ? block.input : {}));
    if (isServerBlock(block)) return [chunkOf({ native: [this.#nativeOf(withInput(block, open.input))] })];
    if (open.citations.length > 0) return this.#cited(open);
    const detail = detailOf(block, this.#details);
    if (!detail) return [];
    this.#details++;
    return [chunkOf({ reasoning_details: [detail] })];
  }

  #end({ delta, usage: told }: Json): Chunk[] {
    const usage = this.#usage.seen(told);
    const finish = isObject(delta) ? finishOf(delta.stop_reason) : undefined;
    if (!finish) return usage ? [{ choices: [], usage }] : [];
    // Only once: the outline stored is the whole turn so far.
    if (!this.complete) this.#memory.keep(this.#calls, this.#outline());
    this.complete = true;
    const declined = isObject(delta) ? refusalIn(delta.stop_details) : undefined;
    const stop_sequence = isObject(delta) ? textOf(delta.stop_sequence) : '';
    const choice = {
      index: 0,
      delta: declined === undefined ? {} : { refusal: declined },
      ...finish,
      ...(stop_sequence !== '' && { stop_sequence }),
    };
    return [{ choices: [choice], ...(usage && { usage }) }];
  }

  #callOf({ id, name }: Block): ToolCall & { index: number } {
    const call: ToolCall = {
      id: textOf(id) || newCallId(),
      type: 'function',
      function: { name: textOf(name), arguments: '' },
    };
    this.#calls.push(call);
    return Object.assign(call, { index: this.#calls.length - 1 });
  }

  #said(text: unknown): Chunk[] {
    if (typeof text !== 'string' || text === '') return [];
    this.#answered += text.length;
    return [chunkOf({ content: text })];
  }

  #nativeOf(item: Json): NativeItem {
    return { format: native_format, item, at: this.#answered };
  }

  /** The citations of a text that has ended, in OpenAI's form as well. */
  #cited({ citations, from }: OpenBlock): Chunk[] {
    const annotations = citations.flatMap(citation => annotationsOf(citation, from, this.#answered));
    const native = citations.map(citation => this.#nativeOf(citation));
    return [chunkOf({ native, ...(annotations.length > 0 && { annotations }) })];
  }

  #thought(text: unknown): Chunk[] {
    if (typeof text !== 'string' || text === '') return [];
    const reasoning = this.#separator + text;
    this.#separator = '';
    this.#hasThought = true;
    return [chunkOf({ reasoning })];
  }

  /** The message's blocks in order, as they are stored. */
  #outline(): Block[] {
    const inOrder = [...this.#blocks].sort(([a], [b]) => a - b);
    return inOrder.flatMap(
      ([, { block, characters }]) =>
        (block.type === 'text' ? { type: 'text', characters } : outlined(block)) ?? [],
    );
  }
}

const chunkOf = (delta: Delta): Chunk => ({ choices: [{ index: 0, delta, finish_reason: null }] });

/** The block of one of the API's own tools with the input that came in pieces. */
function withInput(block: Json, text: string): Json {
  if (text === '') return block;
  try {
    return { ...block, input: JSON.parse(text) };
  } catch {
    return block;
  }
}

function argued(call: ToolCall & { readonly index: number }, text: string): Chunk[] {
  if (text === '') return [];
  call.function.arguments += text;
  return [chunkOf({ tool_calls: [{ index: call.index, function: { arguments: text } }] })];
}

/** The API's explanation of a refusal, if any. */
const refusalIn = (details: unknown): string | undefined =>
  isObject(details) && details.type === 'refusal' ? textOf(details.explanation) || undefined : undefined;
