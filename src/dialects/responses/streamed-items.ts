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

/** Where an item goes: its id and position, and what writes its events. */
export interface ItemPlace {
  readonly events: EventWriter;
  readonly id: string;
  readonly output_index: number;
}

/** An output item while it is streamed: added, its pieces, and done exactly once (protocol h2). */
export abstract class StreamedItem {
  /** The item as it was when it was done. */
  item: OutputItem | undefined;
  protected readonly events: EventWriter;
  protected readonly id: string;
  readonly #output_index: number;
  /** Members that say where a piece belongs: the same in all events of an item, so they are encoded once. */
  protected readonly place: string;

  constructor({ events, id, output_index }: ItemPlace) {
    this.events = events;
    this.id = id;
    this.#output_index = output_index;
    this.place = `,"item_id":${json(id)},"output_index":${output_index}`;
  }

  /** Its first events. */
  abstract open(): string;

  /** Its last events. Nothing may be added afterwards. */
  abstract close(status: ItemStatus): string;

  protected added(item: OutputItem): string {
    return this.events.event('response.output_item.added', { output_index: this.#output_index, item });
  }

  protected done(item: OutputItem): string {
    this.item = item;
    return this.events.event('response.output_item.done', { output_index: this.#output_index, item });
  }
}

const json = JSON.stringify;

/** Names of the pieces of a reasoning item, whose text is its content or its summary. */
const reasoningForms = {
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

export class StreamedReasoning extends StreamedItem {
  readonly #form: (typeof reasoningForms)[keyof typeof reasoningForms];
  readonly #place: string;
  #text = '';

  constructor(place: ItemPlace, placement: ReasoningPlacement) {
    super(place);
    this.#form = reasoningForms[placement === 'summary' ? 'summary' : 'content'];
    this.#place = `${this.place},"${this.#form.index}":0`;
  }

  open(): string {
    const { itemOf, part } = this.#form;
    return this.added(itemOf(this.id, 'in_progress')) + this.events.encoded(`${part}.added`, this.#part());
  }

  add(text: string): string {
    this.#text += text;
    const members = `${this.#place},"delta":${json(text)},"delta_type":"reasoning"`;
    return this.events.encoded(`${this.#form.text}.delta`, members);
  }

  close(status: ItemStatus): string {
    const { itemOf, part, text } = this.#form;
    return (
      this.events.encoded(`${text}.done`, `${this.#place},"text":${json(this.#text)}`) +
      this.events.encoded(`${part}.done`, this.#part()) +
      this.done(itemOf(this.id, status, this.#text))
    );
  }

  #part(): string {
    return `${this.#place},"part":${json({ type: this.#form.type, text: this.#text })}`;
  }
}

/** A message: parts of text and, rarely, of refusal. */
export class StreamedMessage extends StreamedItem {
  readonly #wantsLogprobs: boolean;
  readonly #content: ContentPart[] = [];
  #kind: 'output_text' | 'refusal' | undefined;
  #place = '';
  #text = '';
  #logprobs: unknown[] = [];

  constructor(place: ItemPlace, wantsLogprobs: boolean) {
    super(place);
    this.#wantsLogprobs = wantsLogprobs;
  }

  open(): string {
    return this.added(messageItem(this.id, 'in_progress', []));
  }

  add(text: string, logprobs: readonly unknown[]): string {
    const begun = this.#begin('output_text');
    this.#text += text;
    for (const entry of logprobs) this.#logprobs.push(entry);
    const members = `${this.#place},"delta":${json(text)},"logprobs":${json(logprobs)},"delta_type":"text"`;
    return begun + this.events.encoded('response.output_text.delta', members);
  }

  refuse(text: string): string {
    const begun = this.#begin('refusal');
    this.#text += text;
    return begun + this.events.encoded('response.refusal.delta', `${this.#place},"delta":${json(text)}`);
  }

  close(status: ItemStatus): string {
    const ended = (this.#kind ? '' : this.#begin('output_text')) + this.#end();
    return ended + this.done(messageItem(this.id, status, this.#content));
  }

  /** Begins a part of this kind, unless it is the one that goes on. */
  #begin(kind: 'output_text' | 'refusal'): string {
    if (this.#kind === kind) return '';
    const ended = this.#kind ? this.#end() : '';
    this.#kind = kind;
    this.#text = '';
    this.#logprobs = [];
    this.#place = `${this.place},"content_index":${this.#content.length}`;
    return ended + this.#partEvent('added', this.#part(this.#logprobs));
  }

  #end(): string {
    const isText = this.#kind === 'output_text';
    const members = isText
      ? `${this.#place},"text":${json(this.#text)},"logprobs":${json(this.#logprobs)}`
      : `${this.#place},"refusal":${json(this.#text)}`;
    const done = this.events.encoded(`response.${isText ? 'output_text' : 'refusal'}.done`, members);
    this.#content.push(this.#part(this.#wantsLogprobs ? this.#logprobs : undefined));
    return done + this.#partEvent('done', this.#part(this.#logprobs));
  }

  #part(logprobs: readonly unknown[] | undefined): ContentPart {
    return this.#kind === 'refusal'
      ? { type: 'refusal', refusal: this.#text }
      : outputText(this.#text, logprobs);
  }

  #partEvent(step: 'added' | 'done', part: ContentPart): string {
    return this.events.encoded(`response.content_part.${step}`, `${this.#place},"part":${json(part)}`);
  }
}
