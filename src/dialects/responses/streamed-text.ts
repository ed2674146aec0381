import { type ContentPart, type ItemStatus, messageItem, outputText, reasoningItem } from './output-items.ts';
import { type ItemPlace, StreamedItem } from './streamed-item.ts';

const json = JSON.stringify;

/** The events of each kind of part, and the name of its position. */
const partForms = {
  reasoning_text: formOf('content_part', 'reasoning_text', 'content_index'),
  summary_text: formOf('reasoning_summary_part', 'reasoning_summary_text', 'summary_index'),
  output_text: formOf('content_part', 'output_text', 'content_index'),
  refusal: formOf('content_part', 'refusal', 'content_index'),
};
export type PartKind = keyof typeof partForms;

function formOf(part: string, text: string, index: string) {
  return { part: `response.${part}`, text: `response.${text}`, index };
}

const itemsOf = { reasoning: reasoningItem, message: messageItem };

/** An item whose parts are text: a message of output and, rarely, refusals; or reasoning. */
export class StreamedText extends StreamedItem {
  readonly type: keyof typeof itemsOf;
  readonly #wantsLogprobs: boolean;
  readonly #parts: ContentPart[] = [];
  #kind: PartKind | undefined;
  /** Members that say where a piece of the part belongs. */
  #partPlace = '';
  #text = '';
  #logprobs: unknown[] = [];

  constructor(place: ItemPlace, type: keyof typeof itemsOf, wantsLogprobs: boolean) {
    super(place);
    this.type = type;
    this.#wantsLogprobs = wantsLogprobs;
  }

  open(): string {
    return this.added(itemsOf[this.type](this.id, 'in_progress', []));
  }

  /** Adds to the part of this kind that goes on, or to a new one. */
  add(kind: PartKind, text: string, logprobs: readonly unknown[]): string {
    const begun = this.#kind === kind ? '' : this.#begin(kind);
    this.#text += text;
    for (const entry of logprobs) this.#logprobs.push(entry);
    const members = `${this.#partPlace},"delta":${json(text)}${deltaMembers(kind, logprobs)}`;
    return begun + this.events.encoded(`${partForms[kind].text}.delta`, members);
  }

  /** Even a message without any text has a part. */
  close(status: ItemStatus): string {
    const ended = this.#kind ? this.#end(this.#kind) : this.#begin('output_text') + this.#end('output_text');
    return ended + this.done(itemsOf[this.type](this.id, status, this.#parts));
  }

  #begin(kind: PartKind): string {
    const ended = this.#kind ? this.#end(this.#kind) : '';
    this.#kind = kind;
    this.#text = '';
    this.#logprobs = [];
    this.#partPlace = `${this.place},"${partForms[kind].index}":${this.#parts.length}`;
    return ended + this.#partEvent(kind, 'added');
  }

  #end(kind: PartKind): string {
    const text = `"${kind === 'refusal' ? kind : 'text'}":${json(this.#text)}`;
    const logprobs = kind === 'output_text' ? `,"logprobs":${json(this.#logprobs)}` : '';
    this.#parts.push(partOf(kind, this.#text, this.#wantsLogprobs ? this.#logprobs : undefined));
    const done = this.events.encoded(`${partForms[kind].text}.done`, `${this.#partPlace},${text}${logprobs}`);
    return done + this.#partEvent(kind, 'done');
  }

  #partEvent(kind: PartKind, step: 'added' | 'done'): string {
    const part = json(partOf(kind, this.#text, this.#logprobs));
    return this.events.encoded(`${partForms[kind].part}.${step}`, `${this.#partPlace},"part":${part}`);
  }
}

/** Members of a delta beside its text. */
function deltaMembers(kind: PartKind, logprobs: readonly unknown[]): string {
  if (kind === 'refusal') return '';
  return kind === 'output_text'
    ? `,"logprobs":${json(logprobs)},"delta_type":"text"`
    : ',"delta_type":"reasoning"';
}

function partOf(kind: PartKind, text: string, logprobs: readonly unknown[] | undefined): ContentPart {
  if (kind === 'refusal') return { type: kind, refusal: text };
  return kind === 'output_text' ? outputText(text, logprobs) : { type: kind, text };
}
