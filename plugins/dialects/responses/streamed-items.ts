import { type ChatRequest, encodeEvent, type Usage } from '../../../src/plugin.ts';
import {
  type ContentPart,
  type ItemStatus,
  type OutputItem,
  outputText,
  type TextItem,
  wantsLogprobs,
} from './output-items.ts';
import { usageFields } from './response-object.ts';

const json = JSON.stringify;

/** An event up to its number, encoded once for those of which a stream has many: each part that is put together is an object. */
export const headOf = (type: string): string =>
  encodeEvent(`{"type":"${type}","sequence_number":`, type).trimEnd();

/** Writes the events of one Responses stream, with names and consecutive numbers. */
export class EventWriter {
  readonly wantsLogprobs: boolean;
  readonly #wantsUsage: boolean;
  #next = 0;
  #usage = '';

  constructor(request: ChatRequest) {
    this.wantsLogprobs = wantsLogprobs(request);
    this.#wantsUsage = request.stream_options?.continuous_usage_stats === true;
  }

  /** Adds usage to every further event, if the client asked for running usage. */
  showUsage(usage: Usage): void {
    if (this.#wantsUsage) this.#usage = usageMember(usage);
  }

  event(type: string, fields: object): string {
    return this.encoded(type, `,${json(fields).slice(1, -1)}`);
  }

  /** Writes an event with encoded fields: JSON members, each after a comma. */
  encoded(type: string, members: string, usage?: string): string {
    return this.numbered(headOf(type), members, usage);
  }

  /** The same, of a type whose head is known. */
  numbered(head: string, members: string, usage = this.#usage): string {
    return `${head}${this.#next++}${members}${usage}}\n\n`;
  }
}

export const usageMember = (usage: Usage): string => `,"usage":${json(usageFields(usage))}`;

/** An output item that is streamed: one added event, its pieces, one done event. */
export abstract class StreamedItem<Item extends OutputItem = OutputItem> {
  /** The item so far. */
  readonly item: Item;
  isDone = false;
  protected readonly events: EventWriter;
  /** Members that name the item, the same in all its events and encoded once. */
  protected readonly place: string;
  readonly #output_index: number;

  constructor(events: EventWriter, item: Item, output_index: number) {
    this.item = item;
    this.events = events;
    this.#output_index = output_index;
    this.place = `,"item_id":${json(item.id)},"output_index":${output_index}`;
  }

  /** Its first event. */
  open(): string {
    return this.#event('added');
  }

  /** Its last events. Nothing may be added afterwards. */
  close(status: ItemStatus): string {
    this.item.status = status;
    this.isDone = true;
    return this.#event('done');
  }

  #event(step: 'added' | 'done'): string {
    const fields = { output_index: this.#output_index, item: this.item };
    return this.events.event(`response.output_item.${step}`, fields);
  }
}

/** The events of each kind of part, and the name of its position. */
const partForms = {
  reasoning_text: formOf('content_part', 'reasoning_text', 'content_index'),
  summary_text: formOf('reasoning_summary_part', 'reasoning_summary_text', 'summary_index'),
  output_text: formOf('content_part', 'output_text', 'content_index'),
  refusal: formOf('content_part', 'refusal', 'content_index'),
};
export type PartKind = keyof typeof partForms;

function formOf(part: string, text: string, index: string) {
  const type = `response.${text}`;
  return { part: `response.${part}`, text: type, delta: headOf(`${type}.delta`), index };
}

/** An item of text parts: reasoning, or a message of output and refusals. */
export class StreamedText extends StreamedItem<TextItem> {
  /** The open part. */
  #kind: PartKind | undefined;
  #partPlace = '';
  #text = '';
  #logprobs: unknown[] = [];
  #annotations: object[] = [];

  /** Adds to the open part of this kind, or to a new one. */
  add(kind: PartKind, text: string, logprobs: readonly unknown[]): string {
    const begun = this.#kind === kind ? '' : this.#end() + this.#begin(kind);
    this.#text += text;
    for (const entry of logprobs) this.#logprobs.push(entry);
    const members = `${this.#partPlace},"delta":${json(text)}${deltaMembers(kind, logprobs)}`;
    return begun + this.events.numbered(partForms[kind].delta, members);
  }

  /** Adds a citation to the open part. */
  annotate(annotation: object): string {
    const begun = this.#kind === 'output_text' ? '' : this.#end() + this.#begin('output_text');
    const members = `${this.#partPlace},"annotation_index":${this.#annotations.length},"annotation":${json(annotation)}`;
    this.#annotations.push(annotation);
    return begun + this.events.encoded('response.output_text.annotation.added', members);
  }

  /** Even a message without any text has a part. */
  override close(status: ItemStatus): string {
    const begun = this.#kind || this.item.type === 'reasoning' ? '' : this.#begin('output_text');
    return begun + this.#end() + super.close(status);
  }

  #begin(kind: PartKind): string {
    this.#kind = kind;
    this.#text = '';
    this.#logprobs = [];
    this.#annotations = [];
    this.#partPlace = `${this.place},"${partForms[kind].index}":${this.#partsLike(kind).length}`;
    return this.#partEvent(kind, 'added');
  }

  #end(): string {
    const kind = this.#kind;
    if (!kind) return '';
    const text = `"${kind === 'refusal' ? kind : 'text'}":${json(this.#text)}`;
    const logprobs = kind === 'output_text' ? `,"logprobs":${json(this.#logprobs)}` : '';
    const shown = this.events.wantsLogprobs ? this.#logprobs : undefined;
    this.#partsLike(kind).push(partOf(kind, this.#text, shown, this.#annotations));
    const done = this.events.encoded(`${partForms[kind].text}.done`, `${this.#partPlace},${text}${logprobs}`);
    return done + this.#partEvent(kind, 'done');
  }

  /** The list that a part of this kind is in. */
  #partsLike(kind: PartKind): ContentPart[] {
    return kind === 'summary_text' && 'summary' in this.item ? this.item.summary : this.item.content;
  }

  #partEvent(kind: PartKind, step: 'added' | 'done'): string {
    const part = json(partOf(kind, this.#text, this.#logprobs, this.#annotations));
    return this.events.encoded(`${partForms[kind].part}.${step}`, `${this.#partPlace},"part":${part}`);
  }
}

/** Members of a delta beside its text. */
function deltaMembers(kind: PartKind, logprobs: readonly unknown[]): string {
  if (kind === 'refusal') return '';
  if (kind !== 'output_text') return ',"delta_type":"reasoning"';
  return logprobs.length === 0
    ? ',"logprobs":[],"delta_type":"text"'
    : `,"logprobs":${json(logprobs)},"delta_type":"text"`;
}

function partOf(
  kind: PartKind,
  text: string,
  logprobs: readonly unknown[] | undefined,
  annotations: readonly object[],
): ContentPart {
  if (kind === 'refusal') return { type: kind, refusal: text };
  return kind === 'output_text' ? outputText(text, logprobs, annotations) : { type: kind, text };
}
