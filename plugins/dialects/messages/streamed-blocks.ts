import {
  type CallIds,
  encodeEvent,
  type ReasoningDetail,
  refusal,
  type ToolCallDelta,
} from '../../../src/plugin.ts';
import { JsonEnd } from './json-end.ts';
import { callIdsOf } from './message-object.ts';
import { redactedBlock, signatureOf, textOfDetail } from './reasoning-details.ts';
import { ThinkingTexts } from './thinking-texts.ts';

const json = JSON.stringify;

export const event = (type: string, members: string): string =>
  encodeEvent(`{"type":"${type}"${members}}`, type);

/** A block that is written or waits to be. */
interface Block {
  readonly kind: 'thinking' | 'text' | 'call' | 'whole';
  /** What waits to be written. */
  held: string;
  readonly call?: Call;
  /** One that comes whole, as it is. */
  readonly block?: object;
}

interface Call {
  id: string;
  name: string;
  readonly end: JsonEnd;
}

/** Most characters that wait until the blocks before them have ended. */
const max_held_characters = 8_388_608;

/**
 * Writes the content blocks of a stream, one after the other: this format has no two blocks open at the same time. Pieces of a call that come
 * before the one ahead of it is complete are held back.
 */
export class StreamedBlocks {
  readonly #ids: CallIds;
  readonly #calls = new Map<number, Block>();
  #open: Block | undefined;
  readonly #waiting: Block[] = [];
  #held_characters = 0;
  /** Index of the next block. */
  #next = 0;
  readonly #thinking = new ThinkingTexts();

  constructor(key: string) {
    this.#ids = callIdsOf(key);
  }

  thinking(piece: string): string {
    const text = this.#thinking.withoutSeparator(piece);
    return text === '' ? '' : this.#add('thinking', text);
  }

  text(text: string): string {
    return this.#add('text', text);
  }

  /** A block that has no deltas. */
  whole(block: object): string {
    this.#waiting.push({ kind: 'whole', held: '', block });
    return this.#advance();
  }

  /** What the text before it cites; the text ends there. */
  cite(citations: readonly object[]): string {
    if (this.#open?.kind !== 'text' || this.#waiting.length > 0) return '';
    let text = '';
    for (const citation of citations) text += this.#written(deltas.citation, citation);
    return text + this.#close();
  }

  /** The signature of the thinking before it, or a block of its own. */
  detail(detail: ReasoningDetail): string {
    // No known server reasons within a call. The block could only be written after the call, and what waits for it, has ended.
    if (this.#waiting.length > 0 || (this.#open && !isOver(this.#open))) return '';
    if (detail.type === 'reasoning.encrypted') return this.#alone(redactedBlock(detail));
    if (this.#open?.kind === 'thinking') return this.#sign(detail) + this.#close();
    const text = textOfDetail(detail);
    if (text === '' && signatureOf(detail, '') === '') return '';
    if (text === '' || !this.#thinking.hasAny) return this.#begun(text) + this.#sign(detail) + this.#close();
    const signature = this.#thinking.lateSignature(detail);
    return signature === undefined ? '' : this.#alone({ type: 'thinking', thinking: '', signature });
  }

  /** Whether a detail is that of the open thinking. What else its chunk says comes behind it. */
  ends(detail: ReasoningDetail): boolean {
    return this.#open?.kind === 'thinking' && this.#thinking.isOf(detail);
  }

  /** A piece of a call. White space before the arguments is left out: SDKs cannot parse it where nothing follows. */
  call({ index, id = '', function: called = {} }: ToolCallDelta): string {
    const { name = '', arguments: text = '' } = called;
    let block = this.#calls.get(index);
    if (!block) {
      block = { kind: 'call', held: '', call: { id, name, end: new JsonEnd() } };
      this.#calls.set(index, block);
      this.#waiting.push(block);
    }
    const call = block.call!;
    call.id ||= id;
    call.name ||= name;
    const isEnded = call.end.isWhole;
    const piece = call.end.isCut ? text : text.trimStart();
    const rest = piece.slice(call.end.push(piece));
    if (rest.trim() !== '')
      throw refusal('provider_invalid', { cause: new Error('arguments are more than a JSON object') });
    if (isEnded) return '';
    return this.#open === block ? this.#delta(block, piece) + this.#advance() : this.#hold(block, piece);
  }

  /** Throws if the arguments of a call lack their end: clients would complete them, and make another call. */
  checkCalls(): void {
    for (const { call } of this.#calls.values())
      if (call?.end.isCut)
        throw refusal('provider_invalid', { cause: new Error('arguments of a tool call lack their end') });
  }

  /** Writes what is held back and ends the last block. */
  end(): string {
    let text = '';
    while (this.#open || this.#waiting.length > 0) text += this.#close() + this.#openNext();
    return text;
  }

  /** Adds to the open block of this kind, or to a new one behind all others. */
  #add(kind: 'thinking' | 'text', text: string): string {
    if (this.#open?.kind === kind && this.#waiting.length === 0) return this.#delta(this.#open, text);
    let last = this.#waiting.at(-1);
    if (last?.kind !== kind) this.#waiting.push((last = { kind, held: '' }));
    return this.#hold(last, text);
  }

  #hold(block: Block, text: string): string {
    block.held += text;
    this.#held_characters += text.length;
    if (this.#held_characters > max_held_characters)
      throw refusal('provider_invalid', { cause: new Error('too much behind a call that does not end') });
    return this.#advance();
  }

  /** Ends the open block if it can go no further, and opens the next, as often as possible. */
  #advance(): string {
    let text = '';
    while (this.#waiting.length > 0 && (!this.#open || isOver(this.#open)) && isNamed(this.#waiting[0]!))
      text += this.#close() + this.#openNext();
    return text;
  }

  #openNext(): string {
    const block = this.#waiting.shift();
    if (!block) return '';
    this.#open = block;
    const { held, call } = block;
    block.held = '';
    this.#held_characters -= held.length;
    return this.#start(startOf(block, call && this.#ids.unique(call.id))) + this.#delta(block, held);
  }

  #start(content_block: object): string {
    return event('content_block_start', `,"index":${this.#next},"content_block":${json(content_block)}`);
  }

  #delta({ kind }: Block, text: string): string {
    if (text === '' || kind === 'whole') return '';
    if (kind === 'thinking') this.#thinking.add(text);
    return this.#written(deltas[kind], text);
  }

  #sign(detail: ReasoningDetail): string {
    const signature = this.#thinking.signature(detail);
    return signature === undefined ? '' : this.#signature(signature);
  }

  #signature(signature: string): string {
    return this.#written(deltas.signature, signature);
  }

  #written(delta: string, said: string | object): string {
    return `${delta_head}${this.#next}${delta}${json(said)}}}\n\n`;
  }

  #close(): string {
    if (!this.#open) return '';
    // Without a signature, be it empty, clients do not send the block back.
    const isUnsigned = this.#open.kind === 'thinking' && this.#thinking.end();
    this.#open = undefined;
    return (isUnsigned ? this.#signature('') : '') + event('content_block_stop', `,"index":${this.#next++}`);
  }

  /** Opens a block of thinking that comes whole. */
  #begun(text: string): string {
    const closed = this.#close();
    this.#open = { kind: 'thinking', held: '' };
    return closed + this.#start(startOf(this.#open, undefined)) + this.#delta(this.#open, text);
  }

  /** A block that comes whole, and has no deltas. */
  #alone(block: object): string {
    const before = this.#close();
    const written = this.#start(block) + event('content_block_stop', `,"index":${this.#next}`);
    this.#next++;
    return before + written;
  }
}

// Encoded once: each part that is put together for an event is an object.
const delta_head = encodeEvent('{"type":"content_block_delta","index":', 'content_block_delta').trimEnd();
const deltas = {
  thinking: ',"delta":{"type":"thinking_delta","thinking":',
  text: ',"delta":{"type":"text_delta","text":',
  call: ',"delta":{"type":"input_json_delta","partial_json":',
  signature: ',"delta":{"type":"signature_delta","signature":',
  citation: ',"delta":{"type":"citations_delta","citation":',
};

/** Whether nothing more can come of a block once another has begun. */
const isOver = ({ call }: Block): boolean => !call || call.end.isWhole;

/** Whether a block can be begun: a call begins with its name. */
const isNamed = ({ call }: Block): boolean => call?.name !== '';

function startOf({ kind, call, block }: Block, id: string | undefined): object {
  if (block) return block;
  if (kind === 'thinking') return { type: 'thinking', thinking: '', signature: '' };
  return kind === 'text' ? { type: 'text', text: '' } : { type: 'tool_use', id, name: call!.name, input: {} };
}
