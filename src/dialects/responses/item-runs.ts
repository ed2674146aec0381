import type { EventWriter } from './event-writer.ts';
import {
  type ContentPart,
  type ItemStatus,
  messageItem,
  type OutputItem,
  outputText,
  type ReasoningPlacement,
  reasoningItem,
  summarizedItem,
} from './output-items.ts';

/** An output item while it is streamed: added, its pieces, and done exactly once (protocol h2). */
export interface Run {
  /** The item as it was when it was done. */
  readonly item: OutputItem | undefined;
  /** Its last events. Nothing may be added afterwards. */
  close(status: ItemStatus): string;
}

/** The members that say where a piece belongs: the same in all events of a part, so they are encoded once. */
export const placeOf = (id: string, output_index: number, content_index?: number): string => {
  const place = `,"item_id":${JSON.stringify(id)},"output_index":${output_index}`;
  return content_index === undefined ? place : `${place},"content_index":${content_index}`;
};

const json = JSON.stringify;

/** What the pieces of a reasoning item are called, where its text is its content and where it is its summary. */
const reasoningWords = {
  content: {
    itemOf: reasoningItem,
    index: 'content_index',
    part: 'response.content_part',
    text: 'response.reasoning_text',
    type: 'reasoning_text',
  },
  summary: {
    itemOf: summarizedItem,
    index: 'summary_index',
    part: 'response.reasoning_summary_part',
    text: 'response.reasoning_summary_text',
    type: 'summary_text',
  },
} as const;

export class ReasoningRun implements Run {
  item: OutputItem | undefined;
  readonly #events: EventWriter;
  readonly #id: string;
  readonly #index: number;
  readonly #place: string;
  readonly #words: (typeof reasoningWords)[keyof typeof reasoningWords];
  #text = '';

  constructor(events: EventWriter, id: string, output_index: number, placement: ReasoningPlacement) {
    this.#events = events;
    this.#id = id;
    this.#index = output_index;
    this.#words = reasoningWords[placement === 'summary' ? 'summary' : 'content'];
    this.#place = `${placeOf(id, output_index)},"${this.#words.index}":0`;
  }

  open(): string {
    const item = this.#words.itemOf(this.#id, 'in_progress');
    return (
      this.#events.event('response.output_item.added', { output_index: this.#index, item }) +
      this.#events.encoded(`${this.#words.part}.added`, this.#part(''))
    );
  }

  add(text: string): string {
    this.#text += text;
    return this.#events.encoded(
      `${this.#words.text}.delta`,
      `${this.#place},"delta":${json(text)},"delta_type":"reasoning"`,
    );
  }

  close(status: ItemStatus): string {
    const item = this.#words.itemOf(this.#id, status, this.#text);
    this.item = item;
    return (
      this.#events.encoded(`${this.#words.text}.done`, `${this.#place},"text":${json(this.#text)}`) +
      this.#events.encoded(`${this.#words.part}.done`, this.#part(this.#text)) +
      this.#events.event('response.output_item.done', { output_index: this.#index, item })
    );
  }

  #part(text: string): string {
    return `${this.#place},"part":${json({ type: this.#words.type, text })}`;
  }
}

/** A message: parts of text and, rarely, of refusal. */
export class MessageRun implements Run {
  item: OutputItem | undefined;
  readonly #events: EventWriter;
  readonly #id: string;
  readonly #index: number;
  readonly #wantsLogprobs: boolean;
  readonly #content: ContentPart[] = [];
  #kind: 'output_text' | 'refusal' | undefined;
  #place = '';
  #text = '';
  #logprobs: unknown[] = [];

  constructor(events: EventWriter, id: string, output_index: number, wantsLogprobs: boolean) {
    this.#events = events;
    this.#id = id;
    this.#index = output_index;
    this.#wantsLogprobs = wantsLogprobs;
  }

  open(): string {
    const item = messageItem(this.#id, 'in_progress', []);
    return this.#events.event('response.output_item.added', { output_index: this.#index, item });
  }

  add(text: string, logprobs?: readonly unknown[]): string {
    const begun = this.#kind === 'output_text' ? '' : this.#begin('output_text');
    this.#text += text;
    const told = this.#wantsLogprobs && logprobs ? logprobs : [];
    for (const entry of told) this.#logprobs.push(entry);
    const members = `${this.#place},"delta":${json(text)},"logprobs":${json(told)},"delta_type":"text"`;
    return begun + this.#events.encoded('response.output_text.delta', members);
  }

  refuse(text: string): string {
    const begun = this.#kind === 'refusal' ? '' : this.#begin('refusal');
    this.#text += text;
    return begun + this.#events.encoded('response.refusal.delta', `${this.#place},"delta":${json(text)}`);
  }

  close(status: ItemStatus): string {
    const ended = this.#kind ? this.#end() : this.#begin('output_text') + this.#end();
    const item = messageItem(this.#id, status, this.#content);
    this.item = item;
    return ended + this.#events.event('response.output_item.done', { output_index: this.#index, item });
  }

  #begin(kind: 'output_text' | 'refusal'): string {
    const ended = this.#kind ? this.#end() : '';
    this.#kind = kind;
    this.#text = '';
    this.#logprobs = [];
    this.#place = placeOf(this.#id, this.#index, this.#content.length);
    return ended + this.#events.encoded('response.content_part.added', this.#part());
  }

  #end(): string {
    const isText = this.#kind === 'output_text';
    const done = isText
      ? this.#events.encoded(
          'response.output_text.done',
          `${this.#place},"text":${json(this.#text)},"logprobs":${json(this.#logprobs)}`,
        )
      : this.#events.encoded('response.refusal.done', `${this.#place},"refusal":${json(this.#text)}`);
    const ended = done + this.#events.encoded('response.content_part.done', this.#part());
    const logprobs = this.#wantsLogprobs ? this.#logprobs : undefined;
    this.#content.push(isText ? outputText(this.#text, logprobs) : { type: 'refusal', refusal: this.#text });
    return ended;
  }

  #part(): string {
    const part =
      this.#kind === 'output_text'
        ? outputText(this.#text, this.#logprobs)
        : { type: 'refusal', refusal: this.#text };
    return `${this.#place},"part":${json(part)}`;
  }
}
